"""Run each case of an op by every implementation that works in this process."""

import pytest


@pytest.fixture(params=["reference", "cpp"])
def impl(request):
    if request.param == "cpp":
        request.getfixturevalue("compiled")
    return request.param
