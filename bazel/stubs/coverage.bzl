"""Nothing to define: the repository holds one stand-in binary."""
