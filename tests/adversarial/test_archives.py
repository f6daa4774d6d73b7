"""Archives that unpack to more than they say take no more memory than they say."""

import io
import struct
import tracemalloc
import zipfile
import zlib

import pytest

from setveil.core.untrusted import read_arrays

TRUE, TOLD = 256 << 20, 200


def lying_archive():
    """Return an archive whose only member unpacks to a million times the size that is told."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = bytes(1 << 20)
    data = b"".join(pack.compress(zeros) for _ in range(TRUE >> 20)) + pack.flush()
    name = b"records.npy"
    sizes = (len(data), TOLD)
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, *sizes, len(name), 0)
    entry = struct.pack(
        "<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, 0, *sizes, len(name), 0, 0, 0, 0, 0, 0
    )
    start = len(local) + len(name) + len(data)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(entry) + len(name), start, 0)
    return local + name + data + entry + name + end


def test_a_member_that_lies_about_its_size(tmp_path):
    content = lying_archive()
    (tmp_path / "a.key").write_bytes(content)
    assert zipfile.ZipFile(io.BytesIO(content)).getinfo("records.npy").file_size == TOLD
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="damaged"):
            read_arrays(tmp_path / "a.key", ["records"])
        assert tracemalloc.get_traced_memory()[1] < TRUE / 16
    finally:
        tracemalloc.stop()
