// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.NewApiKey;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.log.PolicyEditor.Change;
import io.weir.ingest.policy.log.PolicyEditor.Draft;
import io.weir.ingest.policy.log.PolicyEditor.Reason;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.limits.policy.ApiKey;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.limits.policy.ClientSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

final class ApiKeyEditsTest {
  private static final int SEEDS = 300;
  private static final int CHANGES = 30;

  private static ObjectNode key(String id, ApiKeyHash hash) {
    ObjectNode key = PolicyEntryCodec.JSON.createObjectNode();
    key.put("id", id);
    key.put("sha256", hash.toString());
    return key;
  }

  private static PolicyLogState after(PolicyLogState state, Change change) throws Exception {
    List<PolicyEntry> entries = new ArrayList<>();
    long version = state.version() + 1;
    for (Draft draft : change.on(state)) {
      entries.add(
          new PolicyEntry(
              draft.key(),
              new PolicyEntry.Change(version, 1, version, version, 0, "test", "id" + version),
              draft.order(),
              draft.content(),
              null));
    }
    return state.after(entries);
  }

  /**
   * Random additions, removals and deletions of clients, against lists: a change that a list cannot
   * take is refused, and leaves all as it was; the index has what the lists have.
   */
  @Test
  void changes_doWhatTheyDoToLists() throws Exception {
    int refused = 0;
    int made = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      PolicyLogState state = PolicyLogState.EMPTY;
      Map<String, List<String>> model = new TreeMap<>();
      for (int i = 0; i < CHANGES; i++) {
        String client = "c" + random.nextInt(3);
        String id = "k" + random.nextInt(4);
        String secret = "s" + random.nextInt(6);
        PolicyKey key = PolicyKey.ofClient(client);
        int what = random.nextInt(5);
        Change change =
            what < 3
                ? ApiKeyEdits.add(key, key(id, ApiKeyHash.of(secret)), PolicyEdits.ANY_VERSION)
                : what == 3
                    ? ApiKeyEdits.remove(key, id, PolicyEdits.ANY_VERSION)
                    : PolicyEdits.delete(key, PolicyEdits.ANY_VERSION);
        boolean may =
            what < 3
                ? mayAdd(model, client, id, secret)
                : what == 3 ? mayRemove(model, client, id) : model.containsKey(client);
        if (may) {
          apply(model, what, client, id, secret);
          state = after(state, change);
          made++;
        } else {
          PolicyLogState before = state;
          assertThrows(Exception.class, () -> after(before, change), "seed " + seed);
          refused++;
        }
        assertEquals(model, model(state), "seed " + seed);
      }
    }
    assertTrue(refused > SEEDS && made > SEEDS, refused + " and " + made);
  }

  private static boolean mayAdd(
      Map<String, List<String>> model, String client, String id, String secret) {
    boolean hasId =
        model.getOrDefault(client, List.of()).stream().anyMatch(key -> key.startsWith(id + " "));
    String hash = ApiKeyHash.of(secret).toString();
    return !hasId
        && model.values().stream().flatMap(List::stream).noneMatch(key -> key.endsWith(hash));
  }

  private static boolean mayRemove(Map<String, List<String>> model, String client, String id) {
    return model.getOrDefault(client, List.of()).stream().anyMatch(key -> key.startsWith(id + " "));
  }

  private static void apply(
      Map<String, List<String>> model, int what, String client, String id, String secret) {
    if (what < 3) {
      model
          .computeIfAbsent(client, each -> new ArrayList<>())
          .add(id + " " + ApiKeyHash.of(secret));
    } else if (what == 3) {
      model.getOrDefault(client, new ArrayList<>()).removeIf(key -> key.startsWith(id + " "));
    } else {
      model.remove(client);
    }
  }

  private static Map<String, List<String>> model(PolicyLogState state) {
    Map<String, List<String>> model = new TreeMap<>();
    for (Map.Entry<String, ClientSettings> own : state.set(0).clients().settings().entrySet()) {
      List<String> keys = new ArrayList<>();
      for (ApiKey key : own.getValue().apiKeys()) {
        keys.add(key.id() + " " + key.sha256());
      }
      model.put(own.getKey(), keys);
    }
    return model;
  }

  @Test
  void addAndRemove_leaveWhatElseIsSet() throws Exception {
    PolicyKey acme = PolicyKey.ofClient("acme");
    ObjectNode paris = PolicyEntryCodec.JSON.createObjectNode();
    paris.put("time_zone", "Europe/Paris");
    PolicyLogState set = after(PolicyLogState.EMPTY, PolicyEdits.put(acme, paris, 0));
    PolicyLogState added = after(set, ApiKeyEdits.add(acme, key("a", ApiKeyHash.of("s")), 1));
    PolicyLogState removed = after(added, ApiKeyEdits.remove(acme, "a", 2));

    PolicyEntry entry = removed.entry(acme);
    assertTrue(entry != null && paris.equals(entry.content()));
    RefusedException seen =
        assertThrows(RefusedException.class, () -> ApiKeyEdits.remove(acme, "a", 1).on(added));
    assertEquals(Reason.CHANGED_SINCE, seen.reason());
  }

  /** Regression: a file from before the keys were created would have refused all their callers. */
  @Test
  void applyOfAFileWithoutPublishedKeys_isRefused_unlessItIsMeant() throws Exception {
    PolicyKey acme = PolicyKey.ofClient("acme");
    PolicyLogState state =
        after(PolicyLogState.EMPTY, ApiKeyEdits.add(acme, key("ci", ApiKeyHash.of("s")), 0));
    AppliedFile without =
        file("policies: []\nclients: {acme: {plan: free}}\nplans: {free: {policies: []}}");
    AppliedFile renamed =
        file(
            "policies: []\nclients: {acme: {api_keys: [{id: new, sha256: \"%s\"}]}}"
                .formatted(ApiKeyHash.of("s")));

    RefusedException refused =
        assertThrows(RefusedException.class, () -> PolicyEdits.apply(without).on(state));
    assertTrue(
        String.valueOf(refused.getMessage())
            .startsWith("the file lacks published API keys (ci of client acme): "),
        refused::getMessage);
    assertFalse(PolicyEdits.apply(without, true).on(state).isEmpty());
    assertFalse(PolicyEdits.apply(renamed).on(state).isEmpty());
  }

  private static AppliedFile file(String yaml) {
    return AppliedFile.of("f.yml", ((PolicyFile.Content.Valid) PolicyFile.parse(yaml)).tree());
  }

  @Test
  void newKeys_differ_haveTheFormat_andAreNotTheirText() {
    NewApiKey one = NewApiKey.random();
    assertTrue(one.secret().matches("weir_[A-Za-z0-9_-]{43}"));
    assertNotEquals(one.secret(), NewApiKey.random().secret());
    assertEquals(ApiKeyHash.of(one.secret()), one.sha256());
    assertEquals(8, ApiKeyEdits.idOf(one.sha256()).length());
    assertFalse(one.toString().contains(one.secret()));
  }
}
