"""What a file of records is, and how it is read and written."""
