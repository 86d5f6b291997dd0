// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.config.TopicConfig;
import org.jspecify.annotations.Nullable;

/** Lists the places other than the state topic that keep data of a client, and for how long. */
public final class Remains {
  private static final String FOR_EVER = "for ever";
  private static final Duration LONGEST = Duration.ofDays(36_500);

  private Remains() {}

  /**
   * Returns one line for each place that keeps data, with the retention from the topics' current
   * settings.
   *
   * @throws TopicAdminException if Kafka does not answer or refuses
   */
  public static List<String> lines(TopicAdmin admin) throws TopicAdminException {
    List<String> lines = new ArrayList<>();
    lines.add(kept(admin, Topics.CALLS, "its calls"));
    lines.add(kept(admin, Topics.LEDGER, "its bills: the ledger is not changed"));
    lines.add(kept(admin, Topics.SETTLEMENTS, "settlements of its calls"));
    lines.add(kept(admin, Topics.QUARANTINE, "calls that could not be counted"));
    lines.add(kept(admin, Topics.CORRECTIONS, "corrections of its buckets"));
    lines.add(
        line(
            Topics.CLIENTS.name(),
            "its settings, "
                + length(admin, Topics.CLIENTS, TopicConfig.MIN_COMPACTION_LAG_MS_CONFIG)
                + " after a change; the time and author of its deletion, for ever"));
    lines.add(
        line(
            Topics.STATE.name(),
            "erased rows, on the brokers' disks until they compact the topic, "
                + compacted(length(admin, Topics.STATE, TopicConfig.MAX_COMPACTION_LAG_MS_CONFIG))
                + "; then the keys of the rows, "
                + length(admin, Topics.STATE, TopicConfig.DELETE_RETENTION_MS_CONFIG)
                + " and until the next compaction"));
    lines.add(
        line(
            "aggregators",
            "erased rows, on their disks until the files are rewritten, at most for a week;"
                + " rows and ids of calls, for WEIR_LATENESS after the window, and then until files"
                + " and changelog topics are rewritten"));
    lines.add(line("Redis", "its buckets, until they are full or their period has ended"));
    lines.add(line("ingest nodes", "calls that Kafka does not have yet, in their journals"));
    return lines;
  }

  private static String kept(TopicAdmin admin, Topic topic, String what)
      throws TopicAdminException {
    return line(topic.name(), what + ", " + length(admin, topic, TopicConfig.RETENTION_MS_CONFIG));
  }

  private static String line(String place, String what) {
    return String.format("  %-24s %s", place, what);
  }

  private static String compacted(String length) {
    return length.equals(FOR_EVER)
        ? "which may never happen: set max.compaction.lag.ms"
        : length + " at most";
  }

  private static String length(TopicAdmin admin, Topic topic, String setting)
      throws TopicAdminException {
    return length(admin.setting(topic, setting));
  }

  /** Formats a setting in milliseconds. Negative, absent and very great values mean "for ever". */
  static String length(@Nullable String millis) {
    long value = millis == null ? -1 : Long.parseLong(millis);
    if (value < 0 || value > LONGEST.toMillis()) {
      return FOR_EVER;
    }
    Duration length = Duration.ofMillis(value);
    return "for " + (length.toDays() >= 2 ? length.toDays() + " days" : length.toString());
  }
}
