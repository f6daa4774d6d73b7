"""Reading with its report, as tests of readers want both."""

from setveil.io.readers import read


def read_reported(path, *args, **options):
    """Return the table and how it was read."""
    table = read(path, *args, **options)
    return table, table.reading
