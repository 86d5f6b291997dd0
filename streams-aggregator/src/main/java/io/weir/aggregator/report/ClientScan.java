// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.table.TableStore;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A scan of the table that collects the names of clients. After the first key of a client, one seek
 * skips all other keys of the client. Keys that are not keys of usage rows are skipped. Not
 * thread-safe.
 */
final class ClientScan implements TableStore.Visitor {
  private final String prefix;
  private final int max;
  private final List<String> clients = new ArrayList<>();

  /**
   * Creates a scan.
   *
   * @param prefix prefix of the names; empty for all names
   * @param max maximum number of names
   */
  ClientScan(String prefix, int max) {
    this.prefix = UsageStateCodec.encodedName(prefix);
    this.max = max;
  }

  /** Returns the first key to visit. */
  byte[] from() {
    return key(prefix);
  }

  /** Returns the end of the keys to visit, exclusive. Encoded names are ASCII. */
  byte[] to() {
    return key(prefix + '\u007f');
  }

  /** Returns the names, in the order of their keys. */
  List<String> clients() {
    return clients;
  }

  @Override
  public byte @Nullable [] visit(byte[] key, byte[] value) {
    if (clients.size() == max) {
      return to();
    }
    String text = new String(key, StandardCharsets.UTF_8);
    if (UsageStateCodec.isOfClient(text)) {
      try {
        clients.add(UsageStateCodec.decodeKey(text).key().client());
      } catch (MalformedRecordException foreignKey) {
        return null;
      }
    }
    int end = text.indexOf('/');
    return end < 0 ? null : key(text.substring(0, end) + '0'); // '0' follows '/'
  }

  private static byte[] key(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
