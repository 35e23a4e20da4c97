# SPDX-License-Identifier: MIT
"""Makes objects and drops most of them, but not those that remember() keeps."""

history = []


def remember(request):
    history.append([f"{request} {n}" for n in range(100)])


def parse(request):
    return [{"field": n, "value": request * n} for n in range(10)]


def handle(request):
    parse(request)
    remember(request)


for number in range(4000):
    handle(number)
