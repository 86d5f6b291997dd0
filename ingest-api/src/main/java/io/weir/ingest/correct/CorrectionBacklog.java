// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.topics.model.CacheRestored;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The corrections and "restored" markers to which the cache has not replied yet, in the order of
 * reading. If several corrections of one bucket wait, the backlog keeps only the newest correction,
 * at the position of the oldest. A correction never moves across a "restored" marker, because the
 * marker covers every earlier correction. Not thread-safe.
 *
 * <p>If only some servers of the cache reply, the corrections of the other servers are deferred.
 * Deferred corrections keep their positions, and the applier continues with later corrections. A
 * "restored" marker behind a deferred correction is deferred too, and never overtakes a correction.
 * Later corrections may overtake the marker, because they describe the current state.
 */
final class CorrectionBacklog {
  /** An entry of the backlog. */
  sealed interface Item {
    int partition();

    /** Returns the offset of the oldest record that this item represents. */
    long offset();
  }

  /** A correction. */
  record WaitingCorrection(int partition, long offset, BoundedCorrection bounded) implements Item {}

  /** The "restored" marker of a partition. */
  record RestoredMessage(int partition, long offset, CacheRestored restored) implements Item {}

  /**
   * The key of an item. Corrections with equal keys are merged: they concern one bucket, and no
   * "restored" marker is between them.
   *
   * @param section number of "restored" markers before the item
   * @param bucket key of the bucket; empty for the marker that ends the section
   */
  private record Key(long section, String bucket) {}

  /** Number of deferred items at which reading stops. This number of items takes about 50 MB. */
  private static final int MAX_DEFERRED = 100_000;

  private final Map<Key, Item> items = new LinkedHashMap<>();
  private final Set<Key> deferred = new HashSet<>();
  private long section;

  /**
   * Appends a correction.
   *
   * @return true if the backlog discarded one of two corrections of the bucket; false if no other
   *     correction of the bucket waits
   */
  boolean add(WaitingCorrection added) {
    Key key = new Key(section, added.bounded().correction().bucket());
    if (!(items.get(key) instanceof WaitingCorrection waiting)) {
      items.put(key, added);
      return false;
    }
    boolean newer = isNewer(added.bounded().correction(), waiting.bounded().correction());
    // All corrections of a bucket are in one partition. If the corrections were in two partitions,
    // the only effect would be a second reading of the older record.
    if (newer) {
      items.put(key, new WaitingCorrection(waiting.partition(), waiting.offset(), added.bounded()));
    }
    return true;
  }

  private static boolean isNewer(Correction one, Correction other) {
    return one.epoch() == other.epoch()
        ? one.version() > other.version()
        : one.epoch() > other.epoch();
  }

  /** Appends the "restored" marker of a partition. */
  void add(RestoredMessage message) {
    items.put(new Key(section, ""), message);
    section++;
  }

  /** Returns whether the backlog has no items. */
  boolean isEmpty() {
    return items.isEmpty();
  }

  /**
   * Returns whether further records may be read. Reading is permitted while all items are deferred
   * and their number is below the maximum.
   */
  boolean mayGrow() {
    return isIdle() && deferred.size() < MAX_DEFERRED;
  }

  /**
   * Returns whether all items are deferred. If so, no item can be applied now. Returns true for an
   * empty backlog.
   */
  boolean isIdle() {
    return items.size() == deferred.size();
  }

  /** Returns whether any item is deferred. */
  boolean hasDeferred() {
    return !deferred.isEmpty();
  }

  /** Ends the deferral of all items. */
  void takeUpDeferred() {
    deferred.clear();
  }

  /** Returns the number of items, deferred or not. */
  int size() {
    return items.size();
  }

  /**
   * Looks at the first item that is not deferred. Returns the item if it is a "restored" marker,
   * otherwise null. Defers markers behind a deferred correction.
   */
  @Nullable RestoredMessage nextRestored() {
    boolean isCorrectionDeferred = false;
    for (Map.Entry<Key, Item> each : items.entrySet()) {
      if (deferred.contains(each.getKey())) {
        isCorrectionDeferred |= each.getValue() instanceof WaitingCorrection;
      } else if (!(each.getValue() instanceof RestoredMessage message)) {
        return null;
      } else if (isCorrectionDeferred) {
        deferred.add(each.getKey());
      } else {
        return message;
      }
    }
    return null;
  }

  /**
   * Returns the first corrections that are not deferred, up to the first "restored" marker that is
   * not deferred.
   *
   * @param max maximum number of corrections
   */
  List<BoundedCorrection> nextCorrections(int max) {
    List<BoundedCorrection> corrections = new ArrayList<>();
    for (Map.Entry<Key, Item> each : items.entrySet()) {
      if (deferred.contains(each.getKey())) {
        continue;
      }
      if (corrections.size() == max || !(each.getValue() instanceof WaitingCorrection correction)) {
        break;
      }
      corrections.add(correction.bounded());
    }
    return corrections;
  }

  /**
   * Removes the first items that are not deferred.
   *
   * @param count number of items
   */
  void answered(int count) {
    answered(count, place -> true);
  }

  /**
   * Removes or defers each of the first items that are not deferred.
   *
   * @param count number of items
   * @param isAnswered returns whether to remove the item with the given index, counted from 0; if
   *     false, the item is deferred
   */
  void answered(int count, IntPredicate isAnswered) {
    Iterator<Key> keys = items.keySet().iterator();
    for (int place = 0; place < count; ) {
      Key key = keys.next();
      if (deferred.contains(key)) {
        continue;
      }
      if (isAnswered.test(place)) {
        keys.remove();
      } else {
        deferred.add(key);
      }
      place++;
    }
  }

  /**
   * Removes all items of the given partitions.
   *
   * @return number of removed items
   */
  int giveUp(Collection<Integer> partitions) {
    int before = items.size();
    items.values().removeIf(item -> partitions.contains(item.partition()));
    deferred.retainAll(items.keySet());
    return before - items.size();
  }

  /**
   * Removes all items.
   *
   * @return number of removed items
   */
  int giveUpAll() {
    int before = items.size();
    items.clear();
    deferred.clear();
    return before;
  }

  /**
   * Returns the offset, exclusive, up to which the cache has replied to all records of a partition.
   *
   * @param readTo the offset after the last record that was read
   */
  long answeredTo(int partition, long readTo) {
    long answered = readTo;
    for (Item item : items.values()) {
      if (item.partition() == partition) {
        answered = Math.min(answered, item.offset());
      }
    }
    return answered;
  }
}
