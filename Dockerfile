# SPDX-License-Identifier: Apache-2.0
# One image, any process that is not 'up' or 'demo': the command says which. Build what it copies first: ./weir build
# Pin it by digest in production, since a tag can move:
#   docker buildx imagetools inspect eclipse-temurin:25-jre
#   docker build --build-arg BASE=eclipse-temurin@sha256:DIGEST .
ARG BASE=eclipse-temurin:25-jre
FROM ${BASE}
# the number is that of deploy/kubernetes
RUN groupadd --gid 10001 weir && useradd --uid 10001 --gid weir --home-dir /var/lib/weir --no-create-home weir \
    && mkdir -p /var/lib/weir && chown weir:weir /var/lib/weir
COPY launcher/target/image-lib /opt/weir/lib
COPY launcher/target/launcher-0.1.0-SNAPSHOT.jar /opt/weir/lib/
COPY docker-entrypoint.sh /opt/weir/entrypoint.sh
ENV WEIR_DATA=/var/lib/weir WEIR_LOG=INFO
USER 10001
VOLUME /var/lib/weir
ENTRYPOINT ["/opt/weir/entrypoint.sh"]
CMD ["--help"]
