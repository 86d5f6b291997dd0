// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.policy.log.PolicyEditor.Draft;
import io.weir.ingest.policy.log.PolicyEntryCodec.ContentTexts;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Converts the drafts of a change to entries of the next version. Immutable.
 *
 * @param received all entries of the log
 * @param before the state to which the change is applied
 * @param nowMillis time of the change, in milliseconds since the epoch
 */
record DraftEntries(ReceivedChanges received, PolicyLogState before, long nowMillis) {
  /**
   * Returns the entries, in the order of the drafts.
   *
   * @param leastVersion minimum version of the change
   * @param changedBy the author of the change
   * @param id the unique id of the change
   */
  List<PolicyEntry> of(List<Draft> drafts, long leastVersion, String changedBy, String id) {
    if (drafts.isEmpty()) {
      return List.of();
    }
    long version = Math.max(received.greatestVersion() + 1, leastVersion);
    int[] parts = new int[2];
    for (Draft draft : drafts) {
      parts[topicOf(draft)]++;
    }
    long ofPolicies =
        parts[0] > 0 ? version : received.newestWholeVersion(ReceivedChanges.POLICIES);
    long ofClients = parts[1] > 0 ? version : received.newestWholeVersion(ReceivedChanges.CLIENTS);
    PolicyEntry.Change[] changes = new PolicyEntry.Change[2];
    for (int topic = 0; topic < 2; topic++) {
      changes[topic] =
          new PolicyEntry.Change(
              version, Math.max(1, parts[topic]), ofPolicies, ofClients, nowMillis, changedBy, id);
    }
    ContentTexts texts = new ContentTexts();
    List<PolicyEntry> entries = new ArrayList<>(drafts.size());
    for (Draft draft : drafts) {
      entries.add(
          PolicyEntry.ofTexts(
              draft.key(),
              changes[topicOf(draft)],
              draft.order(),
              texts.of(draft.content()),
              texts.of(untilThen(draft))));
    }
    return entries;
  }

  private static int topicOf(Draft draft) {
    return draft.key().kind() == PolicyKey.Kind.CLIENT ? 1 : 0;
  }

  /**
   * Returns the content in force until the draft takes effect. Returns null if the draft takes
   * effect now, or if there is no earlier content.
   */
  private @Nullable JsonNode untilThen(Draft draft) {
    JsonNode content = draft.content();
    boolean isLater =
        draft.key().kind() == PolicyKey.Kind.POLICY
            && content != null
            && PolicyLogState.effectiveFromMillis(content) > nowMillis;
    if (!isLater) {
      return null;
    }
    PolicyEntry present = before.entry(draft.key());
    if (present == null) {
      present = received.beyondTheState(draft.key());
    }
    return present == null ? draft.before() : present.contentAt(nowMillis);
  }
}
