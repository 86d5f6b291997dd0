// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Which parts of the log are read for a call, and in which order. An id that is a UUIDv7 tells when
 * it was made; without one, or when the call is not there, the newest part is read first, then ever
 * longer parts before it, back to the horizon.
 *
 * <p>Example: with a horizon of 10 min and any other id at 12:00:00, the parts are [11:59:30, end),
 * [11:57:30, 11:59:30), [11:49:30, 11:57:30) cut at 11:50:00.
 */
final class SearchPlan {
  /** How far the clocks of nodes, callers and the broker may differ. */
  static final long SLACK_MILLIS = 5_000;

  /** The newest part: most calls are settled while it holds them. */
  static final long NEWEST_MILLIS = 30_000;

  /** How long behind the id's time a call is looked for: retries and a journal that was held. */
  static final long BEHIND_HINT_MILLIS = 600_000;

  private static final int GROWTH = 4;
  private static final int UUID_CHARS = 36;
  private static final int TIME_BASED_RANDOM = 7;
  private static final int TIME_SHIFT = 16;

  private SearchPlan() {}

  /**
   * A part of the log, by the time the broker took its records.
   *
   * @param fromEpochMillis its first moment
   * @param toEpochMillis the first moment behind it; {@link Long#MAX_VALUE} for the log's end
   */
  record Part(long fromEpochMillis, long toEpochMillis) {
    /** Whether records may still be added to it. */
    boolean isOpen() {
      return toEpochMillis == Long.MAX_VALUE;
    }
  }

  /**
   * The parts to read, first to last.
   *
   * @param horizonMillis how far back to look where the id does not tell
   * @param maxAgeMillis no id is believed that tells of an older call
   */
  static List<Part> of(String id, long nowMillis, long horizonMillis, long maxAgeMillis) {
    List<Part> parts = new ArrayList<>();
    long newestFrom = nowMillis - NEWEST_MILLIS;
    long hint = timeOf(id);
    if (hint > nowMillis - maxAgeMillis && hint <= nowMillis + SLACK_MILLIS) {
      long from = hint - SLACK_MILLIS;
      if (from >= newestFrom - NEWEST_MILLIS) {
        newestFrom = Math.min(from, newestFrom);
      } else {
        parts.add(new Part(from, hint + BEHIND_HINT_MILLIS));
      }
    }
    parts.add(new Part(newestFrom, Long.MAX_VALUE));
    long oldest = nowMillis - horizonMillis;
    long length = NEWEST_MILLIS;
    for (long to = newestFrom; to > oldest; to -= length) {
      length = Math.min(length * GROWTH, to - oldest);
      parts.add(new Part(to - length, to));
    }
    return parts;
  }

  /** The time in a UUIDv7 (RFC 9562 §5.7), epoch milliseconds; −1 for any other id. */
  static long timeOf(String id) {
    if (id.length() != UUID_CHARS) {
      return -1;
    }
    try {
      UUID uuid = UUID.fromString(id);
      return uuid.version() == TIME_BASED_RANDOM
          ? uuid.getMostSignificantBits() >>> TIME_SHIFT
          : -1;
    } catch (IllegalArgumentException otherId) {
      return -1;
    }
  }
}
