"""Programs that show how the package is used: python3 -m muster.examples.digits."""
