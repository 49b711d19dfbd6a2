"""The web server: HTTP API, live updates, notes, alerts, the page, and static exports.

Start reading at `app.create_app`, which assembles the application, and `serve`, which runs it.

- `source`, `events`: the log as the server sees it, its changes, and live updates
- `api`, `notes`, `alerts`: the server's own routes; `plugins` loads the dashboards with theirs
- `routing`, `responses`: from HTTP to the handlers of routes and to the page, and back
- `auth`, `middleware`: who may send requests, and what is done around each of them
- `serve`: sockets, uvicorn, and the servers that run on this machine
- `static_export`: a view of a log as files that open without a server

May import everything except `tracklight.cli` and `tracklight.notebook`. It knows no dashboard by
name: all of them use `tracklight.plugin`.
"""
