"""Records are cut into chunks, and the links between the chunks are not published."""
