"""The guide: the project's documents, as Markdown pages that the program shows, searches and writes as a site."""
