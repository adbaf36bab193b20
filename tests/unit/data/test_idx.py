"""The IDX format: what is one is read exactly, what is not is refused."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from awt.data import idx
from awt.errors import InputError


def encode_idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)))
def test_idx_round_trip(array):
    found = idx.parse_idx(encode_idx(array), "file")
    assert found.dtype == np.uint8
    assert np.array_equal(found, array)


@given(hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, max_side=4)), st.data())
def test_idx_of_another_length_is_refused(array, data):
    content = encode_idx(array)
    cut = data.draw(st.integers(0, len(content) - 1))
    for wrong in (content[:cut], content + b"\0"):
        with pytest.raises(InputError, match=r"^file: "):
            idx.parse_idx(wrong, "file")


@pytest.mark.parametrize("magic", [b"", b"\0\0", b"\0\0\x0d\x01\0\0\0\0", b"PK\x03\x04"])
def test_other_files_are_no_idx(magic):
    with pytest.raises(InputError, match=r"^file: .*no IDX file of bytes"):
        idx.parse_idx(magic, "file")
