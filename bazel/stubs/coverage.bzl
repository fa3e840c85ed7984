"""Defines nothing: the repository has only one stand-in binary."""
