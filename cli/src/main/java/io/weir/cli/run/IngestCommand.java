// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.Stop;
import io.weir.cli.console.Terminal;
import io.weir.cli.console.WrongVariables;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Runs one ingest node. */
@Command(
    name = "ingest",
    mixinStandardHelpOptions = true,
    description = {
      "Run one ingest node against WEIR_KAFKA and WEIR_REDIS until the process receives SIGTERM.",
      "The journal is in WEIR_DATA/ingest. No two nodes may share a journal or a name (WEIR_NODE)."
    })
public final class IngestCommand implements Callable<Integer> {
  @Mixin private final Terminal terminal = new Terminal();

  @Override
  public Integer call() throws Exception {
    IngestConfig config = WrongVariables.read(terminal.weir().environment(), IngestConfig::of);
    Duration closing = Stop.LIMIT.plus(config.stopDelay()).plus(config.drainTimeout());
    Stop<Ingest> stop = Stop.start(() -> Ingest.start(config), started -> closing);
    Thread announcer = new Thread(() -> announce(stop.resource()), "weir-ready");
    announcer.setDaemon(true);
    announcer.start();
    throw new CommandFailedException(stop.awaitFailure(() -> ""));
  }

  /**
   * Waits until the node is ready, and then prints that it is ready. A stop does not wait for this
   * message.
   */
  private void announce(Ingest ingest) {
    try {
      ingest.awaitReady();
      PrintWriter out = terminal.out();
      ingest.grpcPort().ifPresent(port -> out.println("gRPC is served on port " + port));
      out.println("ingest is ready on port " + ingest.httpPort());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
