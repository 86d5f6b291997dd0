// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An aggregator process for tests that kill it; it is configured by its environment. */
final class AggregatorMain {
  private static final Logger LOG = LoggerFactory.getLogger(AggregatorMain.class);

  private AggregatorMain() {}

  private static final int CANNOT_START = 2;
  private static final int FAILED = 1;

  /**
   * Runs until the process receives a termination signal. Exits with status 2 if the aggregator
   * cannot start, and with 1 if it has stopped permanently by itself.
   */
  public static void main(String[] arguments) throws InterruptedException {
    AggregatorConfig config;
    Aggregator aggregator;
    try {
      config = AggregatorConfig.of(System.getenv());
      LOG.info("configuration {}", config);
      aggregator = Aggregator.start(config);
    } catch (AggregatorStartException | IllegalArgumentException refused) {
      LOG.error("aggregator cannot start: {}", refused.getMessage());
      System.exit(CANNOT_START);
      return;
    }
    CountDownLatch stopped = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  aggregator.close();
                  LOG.info("aggregator stopped instance={}", config.instance());
                  stopped.countDown();
                },
                "stop"));
    while (!stopped.await(1, TimeUnit.SECONDS)) {
      if (aggregator.failed() && stopped.getCount() > 0) {
        LOG.error("aggregator has stopped for good, the process ends: {}", aggregator.failure());
        System.exit(FAILED);
      }
    }
  }
}
