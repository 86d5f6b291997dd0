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
 * Records that were read but to which the cache has not replied, in order. Of several corrections
 * of one bucket only the newest is kept, at the position of the oldest. A correction never moves
 * across a "restored" marker, because that marker covers everything before it. Not thread-safe.
 *
 * <p>Corrections are deferred if their server does not reply while others do. Later corrections are
 * then next; the deferred ones keep their position until they are resumed. A "restored" marker is
 * deferred with them and never overtakes a correction. Later corrections may overtake the marker,
 * because they describe the current state.
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
   * The key under which corrections of one bucket are merged if no "restored" marker is between
   * them.
   *
   * @param section number of "restored" markers before it
   * @param bucket the bucket; empty for the marker that ends the section
   */
  private record Key(long section, String bucket) {}

  /** Maximum number of deferred corrections with which reading continues: about 50 MB. */
  private static final int MAX_DEFERRED = 100_000;

  private final Map<Key, Item> items = new LinkedHashMap<>();
  private final Set<Key> deferred = new HashSet<>();
  private long section;

  /**
   * Appends a correction.
   *
   * @return true if it replaced a waiting correction, or a newer waiting one replaced it
   */
  boolean add(WaitingCorrection added) {
    Key key = new Key(section, added.bounded().correction().bucket());
    if (!(items.get(key) instanceof WaitingCorrection waiting)) {
      items.put(key, added);
      return false;
    }
    boolean newer = isNewer(added.bounded().correction(), waiting.bounded().correction());
    // A bucket has one partition. If it had two, the older record would only be read once more.
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

  /** Returns whether no items wait. */
  boolean isEmpty() {
    return items.isEmpty();
  }

  /**
   * Returns whether further records may be read: all items are deferred, and there are not too
   * many.
   */
  boolean mayGrow() {
    return isIdle() && deferred.size() < MAX_DEFERRED;
  }

  /** Returns whether no item is next: all items are deferred. */
  boolean isIdle() {
    return items.size() == deferred.size();
  }

  /** Returns whether corrections are deferred. */
  boolean hasDeferred() {
    return !deferred.isEmpty();
  }

  /** Makes the deferred corrections the next ones. */
  void takeUpDeferred() {
    deferred.clear();
  }

  /** Returns the number of waiting items. */
  int size() {
    return items.size();
  }

  /**
   * Returns the "restored" marker that is next, or null if a correction or nothing is next. A
   * marker behind a deferred correction is deferred.
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
   * Returns the next corrections, up to a "restored" marker that is not deferred.
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
   * Removes items at the front that are not deferred.
   *
   * @param count number of items
   */
  void answered(int count) {
    answered(count, place -> true);
  }

  /**
   * Removes some of the items at the front that are not deferred, and defers the rest of them.
   *
   * @param count number of items
   * @param isAnswered returns whether to remove the item with the given index, from 0
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
