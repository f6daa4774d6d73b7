"""Files made on the spot."""

import pytest


@pytest.fixture
def file(tmp_path):
    """Return what writes a file of a name and a content into a folder of its own."""

    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make
