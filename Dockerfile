# sdg in a container, on any machine: no GPU, no CUDA.
#
#   docker build -t sdg .
#   docker run --rm -v "$PWD/runs:/work/runs" sdg run            # the main job; its folder is runs/quickstart
#   docker run --rm -v "$PWD/runs:/work/runs" sdg solve --level BossLevel --seed 7
FROM python:3.11-slim

# Where a build of torch without CUDA is found; empty: what the default index has.
ARG TORCH_INDEX=""
ENV OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1 MPLBACKEND=Agg PIP_NO_CACHE_DIR=1

WORKDIR /src
COPY . .
RUN pip install --constraint constraints.txt torch ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} \
    && pip install --constraint constraints.txt .

RUN useradd --create-home sdg && mkdir -p /work/runs && chown -R sdg /work
USER sdg
WORKDIR /work
ENTRYPOINT ["sdg"]
CMD ["--help"]
