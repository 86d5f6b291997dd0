// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.log.PolicyEditor.Draft;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.PolicyMatcher;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A state with the maximum number of clients with their own limits. */
final class ManyOverridesTest {
  private static final int CLIENTS = 100_000;
  private static final int TIERS = 10;

  private static PolicyLogState state() throws Exception {
    List<Draft> drafts = PolicyEdits.drafts(PolicyLogState.EMPTY, tree());
    List<PolicyEntry> entries = new ArrayList<>();
    PolicyEntry.Change ofPolicies = new PolicyEntry.Change(1, 1, 1, 1, 0, "test", "id");
    PolicyEntry.Change ofClients = new PolicyEntry.Change(1, CLIENTS, 1, 1, 0, "test", "id");
    for (Draft draft : drafts) {
      boolean isClient = draft.key().kind() == PolicyKey.Kind.CLIENT;
      entries.add(
          new PolicyEntry(
              draft.key(),
              isClient ? ofClients : ofPolicies,
              draft.order(),
              draft.content(),
              null));
    }
    return PolicyLogState.EMPTY.after(entries);
  }

  private static ObjectNode tree() {
    ObjectNode tree = PolicyEntryCodec.JSON.createObjectNode();
    tree.putArray("policies").add(PolicyLogFixture.bucket("p", 5));
    ObjectNode clients = tree.putObject("clients");
    for (int client = 0; client < CLIENTS; client++) {
      clients
          .putObject("client-" + client)
          .putObject("limits")
          .putObject("p")
          .put("capacity", 100 + client % TIERS)
          .put("refill_tokens", 1)
          .put("refill_period", "PT1H");
    }
    return tree;
  }

  /** Nodes of earlier releases require 1 <= part <= parts, and would ignore the whole change. */
  @Test
  void record_hasAPart_soThatNodesOfEarlierReleasesReadIt() throws Exception {
    PolicyEntry entry = state().clientEntries().iterator().next();
    JsonNode record = PolicyEntryCodec.JSON.readTree(PolicyEntryCodec.encode(entry));

    assertEquals(1, record.path("part").intValue());
    assertEquals(entry, PolicyEntryCodec.decode(entry.key(), record));
  }

  @Test
  void clientsWithEqualLimits_shareThem_andEachIsDecidedByItsOwn() throws Exception {
    PolicyLogState state = state();
    Set<ClientSettings> settings = Collections.newSetFromMap(new IdentityHashMap<>());
    settings.addAll(state.set(0).clients().settings().values());
    Set<byte[]> texts = Collections.newSetFromMap(new IdentityHashMap<>());
    state.clientEntries().forEach(entry -> texts.add(entry.contentText()));

    assertEquals(TIERS, settings.size());
    assertEquals(TIERS, texts.size());
    PolicyMatcher matcher = PolicyMatcher.of(state.set(0));
    long sum = 0;
    for (int client = 0; client < CLIENTS; client++) {
      MatchedPolicies matched = matcher.match("client-" + client, "GET /", "calls", 0);
      sum += matched.evaluated().get(0).policy().limit().capacityTokens();
    }
    assertEquals(CLIENTS * (100L + 100 + TIERS - 1) / 2, sum);
    assertEquals(
        5,
        matcher
            .match("other", "GET /", "calls", 0)
            .evaluated()
            .get(0)
            .policy()
            .limit()
            .capacityTokens());
  }

  @Test
  void changeOfOneClient_keepsTheEntriesOfAllOthers() throws Exception {
    PolicyLogState before = state();
    PolicyKey one = PolicyKey.ofClient("client-7");
    PolicyLogState after =
        before.after(
            List.of(
                new PolicyEntry(
                    one, new PolicyEntry.Change(2, 1, 1, 2, 0, "test", "id2"), 0, null, null)));

    assertEquals(before.entries().size(), after.entries().size());
    for (PolicyEntry entry : before.entries()) {
      if (!entry.key().equals(one)) {
        assertSame(entry, after.entry(entry.key()));
      }
    }
    assertEquals(CLIENTS - 1, after.set(0).clients().settings().size());
    PolicyKey other = PolicyKey.ofClient("client-8");
    assertSame(
        before.set(0).clients().settings().get(other.name()),
        after.set(0).clients().settings().get(other.name()));
  }
}
