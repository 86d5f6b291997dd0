// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.Stop;
import io.weir.cli.console.Terminal;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Runs all processes of Weir in one process until the command is stopped. */
@Command(
    name = "up",
    mixinStandardHelpOptions = true,
    description = {
      "Run all of Weir in this process until Ctrl-C.",
      "Starts a real Kafka broker, a real redis-server, the aggregator and one ingest node. Their "
          + "data are in WEIR_DATA (.weir). If WEIR_KAFKA or WEIR_REDIS is set, that server is used "
          + "instead. Ports: WEIR_HTTP_PORT 8080, WEIR_REPORTS_PORT 8081, WEIR_KAFKA_PORT 9092, "
          + "WEIR_REDIS_PORT 6379; 0 selects a free port. WEIR_GRPC_PORT also serves Envoy's rate "
          + "limit service."
    })
public final class UpCommand implements Callable<Integer> {
  @Mixin private final Terminal terminal = new Terminal();

  @Override
  public Integer call() throws Exception {
    PrintWriter out = terminal.out();
    Stop<LocalWeir> stop =
        Stop.start(
            () ->
                LocalWeir.start(
                    terminal.weir().environment(),
                    part -> print("starting " + part),
                    part -> print("stopping " + part)),
            started -> Stop.LIMIT.plus(started.ingestStop()));
    LocalWeir local = stop.resource();
    stop.await(
        () -> {
          local.awaitReady();
          return null;
        });
    out.println("check API  " + local.checkUrl() + "/v1/check");
    local.grpc().ifPresent(address -> out.println("gRPC       " + address));
    out.println("reports    " + local.reportsUrl() + "/");
    out.println("Kafka      " + local.kafka());
    out.println("Redis      " + local.redis());
    out.println("usage page " + local.reportsUrl() + "/ (open it in a browser)");
    out.println("weir is ready");
    throw new CommandFailedException(stop.awaitFailure(local::failure));
  }

  private void print(String line) {
    terminal.out().println(line);
  }
}
