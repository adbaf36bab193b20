"""A ticket has one spelled form, and is made of anything that has its three parts."""

import json

import pandas as pd
import pytest

from awt.names import TicketName

NAME = TicketName("awt", 0.03, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (NAME, "awt-0.03-seed0"),
        (TicketName("dense", 1.0, 12), "dense-1-seed12"),
        (TicketName("ours", 0.1 + 0.2, 0), "ours-0.3-seed0"),
        (TicketName("x", 1e-5, 0), "x-1e-05-seed0"),
    ],
)
def test_it_is_spelled_as_people_write_numbers(name, text):
    assert str(name) == text


def test_it_is_made_of_tags_of_an_index_and_of_a_table():
    assert TicketName.of(json.loads(json.dumps(NAME.tags)) | {"file": "x.npz"}) == NAME
    table = pd.DataFrame([{"method": "awt", "density": 0.03, "seed": 0, "natural": 0.9}])
    assert TicketName.of(table.iloc[0]) == NAME
    assert isinstance(TicketName.of(table.iloc[0]).seed, int)
