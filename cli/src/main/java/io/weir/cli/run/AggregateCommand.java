// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.aggregator.report.LiveCache;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.Stop;
import io.weir.cli.console.Terminal;
import io.weir.cli.console.WrongVariables;
import io.weir.ingest.IngestConfig;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Runs one aggregator. */
@Command(
    name = "aggregate",
    mixinStandardHelpOptions = true,
    description = {
      "Run one aggregator against WEIR_KAFKA until the process receives SIGTERM.",
      "The aggregator counts calls, closes windows, writes the ledger and answers reports on "
          + "WEIR_REPORTS_PORT (8081)."
    })
public final class AggregateCommand implements Callable<Integer> {
  @Mixin private final Terminal terminal = new Terminal();

  @Override
  public Integer call() throws Exception {
    boolean hasRedis = !terminal.weir().setting("WEIR_REDIS", "").isEmpty();
    AggregatorConfig config =
        WrongVariables.read(
            terminal.weir().environment(),
            variables -> {
              if (hasRedis) {
                IngestConfig.redis(variables);
              }
              return AggregatorConfig.of(variables);
            });
    if (!hasRedis) {
      return run(config, LiveCache.NOT_ASKED);
    }
    try (RedisLiveCache cache =
        RedisLiveCache.start(IngestConfig.redis(terminal.weir().environment()))) {
      return run(config, cache);
    }
  }

  private int run(AggregatorConfig config, LiveCache cache) throws Exception {
    Stop<Aggregator> stop =
        Stop.start(() -> Aggregator.start(config, cache), started -> Stop.LIMIT);
    Aggregator aggregator = stop.resource();
    terminal.out().println("aggregator is up, reports on port " + aggregator.reportsPort());
    throw new CommandFailedException(
        "the aggregator has stopped: " + stop.awaitFailure(aggregator::failure));
  }
}
