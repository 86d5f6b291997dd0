// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.common.KafkaException;

/**
 * Checks that a Kafka server accepts connections before a command waits for its answers. Kafka's
 * clients retry a wrong address for as long as a request may take, which is half a minute and more.
 */
final class KafkaProbe {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private KafkaProbe() {}

  /**
   * Requires that at least one address accepts a connection.
   *
   * @param servers {@code host:port}, separated by commas
   * @throws CommandFailedException if none does within 5 s over all addresses
   * @throws KafkaException if no address can be resolved
   */
  static void requireReachable(String servers) {
    List<InetSocketAddress> addresses =
        ClientUtils.parseAndValidateAddresses(
            List.of(servers.split("\\s*,\\s*")), "use_all_dns_ips");
    long deadline = System.nanoTime() + TIMEOUT.toNanos();
    List<String> refusals = new ArrayList<>();
    for (int i = 0; i < addresses.size(); i++) {
      InetSocketAddress address = addresses.get(i);
      // the rest of the time is shared by the addresses that are left
      long left = (deadline - System.nanoTime()) / 1_000_000 / (addresses.size() - i);
      try (Socket socket = new Socket()) {
        socket.connect(address, (int) Math.max(1, left));
        return;
      } catch (IOException refused) {
        refusals.add(
            address.getHostString() + ":" + address.getPort() + " " + refused.getMessage());
      }
    }
    throw new CommandFailedException(
        "Kafka does not answer at "
            + servers
            + " (WEIR_KAFKA): "
            + String.join("; ", refusals)
            + "; start Kafka or 'weir up', or set WEIR_KAFKA to the broker's address");
  }
}
