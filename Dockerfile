# CPU only, not root, nothing is written but /tmp: docker run --read-only --tmpfs /tmp -v MODEL:/models/model:ro IMAGE /models/model
FROM python:3.11-slim AS build
WORKDIR /src
RUN python -m venv /opt/sidrec
COPY constraints.txt pyproject.toml README.md LICENSE ./
RUN /opt/sidrec/bin/pip install --no-cache-dir -c constraints.txt --extra-index-url https://download.pytorch.org/whl/cpu torch
COPY recipes recipes
COPY src src
RUN /opt/sidrec/bin/pip install --no-cache-dir -c constraints.txt '.[serve,postgres]'

FROM python:3.11-slim
RUN useradd --system --uid 10001 --no-create-home sidrec
COPY --from=build /opt/sidrec /opt/sidrec
USER sidrec
ENV HOME=/tmp HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR=/tmp
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["/opt/sidrec/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]
ENTRYPOINT ["/opt/sidrec/bin/sidrec", "serve", "--host", "0.0.0.0"]
