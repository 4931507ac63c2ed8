# Two stages: the first installs and compiles, the second holds only what runs. litellm's own web pages do not.
FROM python:3.13-slim AS build

ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /srv
COPY requirements.lock ./
# Bytecode is compiled here: the running container may not write, and compiling at every start would cost seconds.
RUN python -m venv --without-pip /srv/venv \
    && python -m pip --python /srv/venv/bin/python install --require-hashes --no-compile -r requirements.lock \
    && rm -r /srv/venv/lib/python3*/site-packages/litellm/proxy/_experimental/out \
    && /srv/venv/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /srv/venv/lib
# As in an installed package: the command am-proxy, and the code under the name am_proxy.
COPY app ./am_proxy
RUN /srv/venv/bin/python -m compileall -q --invalidation-mode unchecked-hash am_proxy \
    && printf '#!/srv/venv/bin/python -P\nfrom am_proxy.__main__ import main\nif __name__ == "__main__":\n    main()\n' \
        > /srv/venv/bin/am-proxy \
    && chmod 755 /srv/venv/bin/am-proxy

FROM python:3.13-slim

ENV PATH=/srv/venv/bin:$PATH \
    PYTHONPATH=/srv \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    AM_HOST=0.0.0.0 \
    AM_PORT=8080
WORKDIR /srv
COPY --from=build /srv/venv /srv/venv
COPY --from=build /srv/am_proxy /srv/am_proxy
COPY LICENSE /srv/LICENSE

# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['AM_PORT'] + '/health/live', timeout=2)"]

# Others can reach a container, so it does not start without a key (AM_KEY, or [[keys]] in a file) or an explicit
# choice to do without (AM_INSECURE_NO_AUTH=true).
ENTRYPOINT ["am-proxy"]
CMD ["serve"]
