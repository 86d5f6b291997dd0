// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import java.util.concurrent.CountDownLatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One aggregator as a process of its own, told by its environment. */
public final class AggregatorMain {
  private static final Logger LOG = LoggerFactory.getLogger(AggregatorMain.class);

  private AggregatorMain() {}

  /** Runs until the process is told to stop; exits with 2 when it cannot start. */
  public static void main(String[] arguments) throws InterruptedException {
    AggregatorConfig config;
    Aggregator aggregator;
    try {
      config = AggregatorConfig.of(System.getenv());
      LOG.info("configuration {}", config);
      aggregator = Aggregator.start(config);
    } catch (AggregatorStartException | IllegalArgumentException refused) {
      LOG.error("aggregator cannot start: {}", refused.getMessage());
      System.exit(2);
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
    stopped.await();
  }
}
