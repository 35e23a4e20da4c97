# SPDX-License-Identifier: MIT
"""A web service. find_orders() reads all rows of a table for each request, as it has no index."""

import sqlite3
import sys
import threading
import time
import urllib.request

from flask import Flask, jsonify, render_template_string
from werkzeug.serving import make_server

app = Flask(__name__)
db = sqlite3.connect(":memory:", check_same_thread=False)
db.execute("create table orders (id integer, customer text, total real)")
db.execute("""insert into orders with recursive n(i) as (select 0 union all select i + 1 from n where i < 499999)
    select i, 'customer ' || (i % 5000), i * 0.5 from n""")


def find_orders(customer):
    return db.execute("select id, total from orders where customer = ?", (customer,)).fetchall()


def render(orders):
    return render_template_string("{% for o in orders %}<p>{{ o[0] }}: {{ o[1] }}</p>{% endfor %}", orders=orders)


@app.route("/orders/<customer>")
def show_orders(customer):
    return render(find_orders(f"customer {customer}"))


@app.route("/health")
def health():
    return jsonify(ok=True)


server = make_server("127.0.0.1", 0, app)
threading.Thread(target=server.serve_forever, daemon=True).start()
n = 0
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    for path in ("health", f"orders/{n % 5000}"):
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/{path}").read()
    n += 1
