// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * Checks that Kafka responds before a command waits for it. Kafka's clients retry a wrong address
 * until the request times out, after 30 s or more.
 */
final class KafkaProbe {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

  /**
   * This timeout is longer than the connect timeout, because a busy broker accepts connections at
   * once, but responds late.
   */
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(15);

  private KafkaProbe() {}

  /**
   * Requires that Kafka responds.
   *
   * @throws CommandFailedException if no address accepts a connection within 5 s, or the server is
   *     not Kafka or does not respond within 15 s
   * @throws KafkaException if no address can be resolved, or Kafka refuses this user
   */
  public static void requireReachable(KafkaConnection kafka) {
    requireOpen(kafka.bootstrapServers());
    try (Admin admin = kafka.admin(Map.of())) {
      admin
          .describeCluster(new DescribeClusterOptions().timeoutMs((int) ANSWER_TIMEOUT.toMillis()))
          .nodes()
          .get();
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof KafkaException refused
          && !(refused instanceof TimeoutException)) {
        throw refused;
      }
      throw unreachable(
          kafka.bootstrapServers(),
          "the server there is not Kafka, speaks another protocol (TLS, SASL), or does not answer"
              + " within "
              + ANSWER_TIMEOUT.toSeconds()
              + " s");
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw unreachable(kafka.bootstrapServers(), "the command is being stopped");
    }
  }

  private static void requireOpen(String servers) {
    List<InetSocketAddress> addresses =
        ClientUtils.parseAndValidateAddresses(
            List.of(servers.split("\\s*,\\s*")), "use_all_dns_ips");
    long deadline = System.nanoTime() + CONNECT_TIMEOUT.toNanos();
    List<String> refusals = new ArrayList<>();
    for (int i = 0; i < addresses.size(); i++) {
      InetSocketAddress address = addresses.get(i);
      // all remaining addresses share the remaining time
      long left = (deadline - System.nanoTime()) / 1_000_000 / (addresses.size() - i);
      try (Socket socket = new Socket()) {
        socket.connect(address, (int) Math.max(1, left));
        return;
      } catch (IOException refused) {
        refusals.add(
            address.getHostString() + ":" + address.getPort() + " " + refused.getMessage());
      }
    }
    throw unreachable(servers, String.join("; ", refusals));
  }

  private static CommandFailedException unreachable(String servers, String why) {
    return new CommandFailedException(
        "Kafka does not answer at "
            + servers
            + " (WEIR_KAFKA): "
            + why
            + "; start Kafka or 'weir up', or set WEIR_KAFKA to the broker's address");
  }
}
