// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes the node's readiness as the gRPC health of the server and of one service. Clients that
 * watch the health receive a change within a fraction of a second. Thread-safe.
 */
final class HealthUpdates implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(HealthUpdates.class);

  private static final Duration INTERVAL = Duration.ofMillis(250);

  private final HealthStatusManager status;
  private final String service;
  private final BooleanSupplier isReady;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "weir-grpc-health");
            thread.setDaemon(true);
            return thread;
          });

  private HealthUpdates(HealthStatusManager status, String service, BooleanSupplier isReady) {
    this.status = status;
    this.service = service;
    this.isReady = isReady;
  }

  /**
   * Publishes the health once, and then at a fixed interval.
   *
   * @param isReady returns whether the node is ready to record calls
   */
  static HealthUpdates start(HealthStatusManager status, String service, BooleanSupplier isReady) {
    HealthUpdates updates = new HealthUpdates(status, service, isReady);
    updates.update();
    var unused =
        updates.clock.scheduleWithFixedDelay(
            updates::update, INTERVAL.toMillis(), INTERVAL.toMillis(), TimeUnit.MILLISECONDS);
    return updates;
  }

  private void update() {
    ServingStatus now = ServingStatus.NOT_SERVING;
    try {
      now = isReady.getAsBoolean() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    } catch (RuntimeException failed) {
      LOG.error("publishing readiness failed", failed);
    }
    status.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, now);
    status.setStatus(service, now);
  }

  /** Publishes "not serving" permanently. Idempotent. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      clock.shutdownNow();
      status.enterTerminalState();
    }
  }
}
