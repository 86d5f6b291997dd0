// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.CallEvent;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The rule that an event must belong to this partition and have an accepted time. Not thread-safe.
 */
final class EventCheck {
  private final int partition;
  private final CountSettings settings;
  private final ToIntFunction<String> partitionOfClient;
  private final PartitionState state;
  private @Nullable String lastClient;
  private boolean lastClientIsOurs;

  EventCheck(
      int partition,
      CountSettings settings,
      ToIntFunction<String> partitionOfClient,
      PartitionState state) {
    this.partition = partition;
    this.settings = settings;
    this.partitionOfClient = partitionOfClient;
    this.state = state;
  }

  /**
   * Returns the reason for which an event is not valid in this partition at this time. Returns null
   * if the event is valid.
   */
  @Nullable String violation(CallEvent event) {
    if (!isOurs(event.client())) {
      return "client belongs to another partition";
    }
    long decidedAt = event.decidedAtEpochMillis();
    long broker = Math.max(state.appendEpochMillis, state.stampEpochMillis);
    if (decidedAt > broker + CountSettings.MAX_AHEAD_MILLIS) {
      return "decided_at_ms is in the future";
    }
    return decidedAt < state.appendEpochMillis - settings.latenessMillis()
        ? "decided_at_ms is too old"
        : null;
  }

  private boolean isOurs(String client) {
    if (!client.equals(lastClient)) {
      lastClient = client;
      lastClientIsOurs = partitionOfClient.applyAsInt(client) == partition;
    }
    return lastClientIsOurs;
  }
}
