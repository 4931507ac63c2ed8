"""The HTTP client: one request to one address, and an answer that is translated where it is received.

`http_pool.py` is the way in: a pool of connections (`http_connection.py`) to one address, made by
`http_connecting.py`. `http_heads.py` writes what is sent, `http_answer.py` holds what comes back.
"""
