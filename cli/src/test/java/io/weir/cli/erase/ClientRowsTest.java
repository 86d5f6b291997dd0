// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.catalog.Topics;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.UsageStateCodec;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which rows of a partition are a client's, and which of them fit into memory. */
final class ClientRowsTest {
  private static final int MANY = 100;

  private long offset;

  @Test
  void rowsOfNamesThatBeginAlike_areOthers() {
    for (String client : new String[] {"acme", "acme/", "acme%", "acm", "acme2", "acme/x", "@x"}) {
      ClientRows rows = new ClientRows(client, "", MANY);
      for (String other : new String[] {"acme", "acme/", "acme%", "acm", "acme2", "acme/x", "@x"}) {
        put(rows, other, "GET /a/b", 1);
      }

      assertEquals(Set.of(key(client, "GET /a/b", 1)), rows.rows().keySet(), client);
    }
  }

  @Test
  void newestRecordOfAKey_isTheRow() {
    ClientRows rows = new ClientRows("a", "", MANY);
    put(rows, "a", "x", 1);
    long newest = put(rows, "a", "x", 1);

    assertEquals(newest, Objects.requireNonNull(rows.rows().get(key("a", "x", 1))).lastOffset());
  }

  @Test
  void erasedRow_isNone_untilItIsWrittenAgain() {
    ClientRows rows = new ClientRows("a", "", MANY);
    put(rows, "a", "x", 1);
    take(rows, key("a", "x", 1), null);
    assertEquals(Set.of(), rows.rows().keySet());

    put(rows, "a", "x", 1);
    assertEquals(Set.of(key("a", "x", 1)), rows.rows().keySet());
  }

  /** Regression: no row of the client could be erased any more. */
  @Test
  void rowThatCannotBeRead_isLeft_andTheOthersAreFound() {
    ClientRows rows = new ClientRows("a", "", MANY);
    put(rows, "a", "x", 1);
    put(rows, "a", "x", 2);
    take(rows, key("a", "x", 1), new byte[] {'?'});
    take(rows, "a/future", new byte[] {'?'});

    assertEquals(Set.of(key("a", "x", 2)), rows.rows().keySet());
    assertTrue(Objects.requireNonNull(rows.unreadable()).startsWith(Topics.STATE.name()));

    put(rows, "a", "x", 1);
    assertNull(rows.unreadable());
  }

  @Test
  void rowOfTheOtherEndpoints_isTheClients() {
    ClientRows rows = new ClientRows("a", "", MANY);
    UsageState others = state(UsageKey.others("a", "calls"), 1);
    take(rows, UsageStateCodec.key(others), UsageStateCodec.encode(others));

    assertEquals(1, rows.rows().size());
  }

  /** Rows are erased and written while the topic is read; none may be passed over. */
  @Test
  void moreRowsThanFit_areReadInSlices_andNoneIsPassedOver() {
    Set<String> found = new TreeSet<>();
    Set<String> expected = new TreeSet<>();
    String from = "";
    int slices = 0;
    while (from != null) {
      ClientRows rows = new ClientRows("a", from, 3);
      for (int window : new int[] {7, 1, 9, 3, 8, 2, 6, 4, 5}) {
        put(rows, "a", "x", window);
        expected.add(key("a", "x", window));
      }
      take(rows, key("a", "x", 1), null);
      expected.remove(key("a", "x", 1));
      put(rows, "a", "x", 9);
      found.addAll(rows.rows().keySet());
      from = rows.next();
      slices++;
    }

    assertEquals(expected, found);
    assertEquals(true, slices > 2, "read in " + slices);
  }

  @Test
  void allRowsFit_nothingIsNext() {
    ClientRows rows = new ClientRows("a", "", 1);
    put(rows, "a", "x", 1);

    assertNull(rows.next());
  }

  private static String key(String client, String endpoint, int window) {
    return UsageStateCodec.key(state(new UsageKey(client, "calls", endpoint), window));
  }

  private static UsageState state(UsageKey key, int window) {
    return state(key, window, 0);
  }

  private static UsageState state(UsageKey key, int window, long offset) {
    return new UsageState(
        key,
        new UsageWindow(window * 1_000L, window * 1_000L + 1_000),
        UsageState.Status.FINAL,
        1,
        new UsageCount(1, 1, 0, 0, 0, 0, 1, offset, offset, 1, 1),
        true);
  }

  private long put(ClientRows rows, String client, String endpoint, int window) {
    long at = ++offset;
    UsageState state = state(new UsageKey(client, "calls", endpoint), window, at);
    take(rows, UsageStateCodec.key(state), UsageStateCodec.encode(state));
    return at;
  }

  private static void take(ClientRows rows, String key, byte @Nullable [] value) {
    rows.take(new ConsumerRecord<>(Topics.STATE.name(), 0, 0, key, value));
  }
}
