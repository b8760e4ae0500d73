"""Garcia-Molina's nine assumptions, in a few words each."""

__all__ = ["ASSUMPTIONS"]

ASSUMPTIONS: dict[int, str] = {
    1: "all nodes run the same algorithm",
    2: "the local system works",
    3: "no message appears that was not sent",
    4: "stable storage is permanent and atomic",
    5: "a failed node halts",
    6: "a message reaches its receiver whole",
    7: "messages arrive in order",
    8: "messages arrive within Tm",
    9: "nodes answer within Tp",
}
