// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.table.TableStore;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the names of clients out of the table: one leap for each client, over all of its keys,
 * however many they are. Not safe for threads.
 */
final class ClientScan implements TableStore.Visitor {
  private final String prefix;
  private final int max;
  private final List<String> clients = new ArrayList<>();

  /**
   * Begins one.
   *
   * @param prefix what the names begin with; empty for all
   * @param max most names to be read
   */
  ClientScan(String prefix, int max) {
    this.prefix = UsageStateCodec.encodedName(prefix);
    this.max = max;
  }

  /** The first key to visit. */
  byte[] from() {
    return key(prefix);
  }

  /** Behind the last key to visit: encoded names are of ASCII. */
  byte[] to() {
    return key(prefix + '\u007f');
  }

  /** The names, in the order of their keys. */
  List<String> clients() {
    return clients;
  }

  @Override
  public byte @Nullable [] visit(byte[] key, byte[] value) {
    if (clients.size() == max) {
      return to();
    }
    String text = new String(key, StandardCharsets.UTF_8);
    int end = text.indexOf('/');
    if (UsageStateCodec.isOfClient(text)) {
      clients.add(UsageStateCodec.client(text));
    }
    return key(text.substring(0, end) + '0'); // '0' follows '/'
  }

  private static byte[] key(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
