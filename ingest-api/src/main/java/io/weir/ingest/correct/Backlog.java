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
 * Records that were read but not answered by the cache yet, in their order. Of several corrections
 * of one bucket only the newest is kept, in the place of the oldest. This never crosses a message
 * that a partition is restored, since that message covers everything before it. Not thread-safe.
 *
 * <p>Corrections whose server does not answer while others do are deferred: those behind them are
 * next, and they keep their place until they are taken up again. A message that a partition is
 * restored is deferred with them, and never overtakes a correction; corrections behind it may
 * overtake it, since they tell of what is so now.
 */
final class Backlog {
  /** An entry of the backlog. */
  sealed interface Item {
    int partition();

    /** Returns the offset of the oldest record that this item stands for. */
    long offset();
  }

  /** A correction. */
  record WaitingCorrection(int partition, long offset, BoundedCorrection bounded) implements Item {}

  /** The message that a partition is restored. */
  record RestoredMessage(int partition, long offset, CacheRestored restored) implements Item {}

  /**
   * The key under which corrections of one bucket meet if no restored message lies between them.
   *
   * @param section number of restored messages before it
   * @param bucket the bucket; empty for the restored message that ends the section
   */
  private record Key(long section, String bucket) {}

  /** Most deferred corrections behind which others are read: some 50 MB. */
  private static final int MAX_DEFERRED = 100_000;

  private final Map<Key, Item> items = new LinkedHashMap<>();
  private final Set<Key> deferred = new HashSet<>();
  private long section;

  /**
   * Appends a correction.
   *
   * @return true if it replaced a waiting correction or was itself superseded by one
   */
  boolean add(WaitingCorrection added) {
    Key key = new Key(section, added.bounded().correction().bucket());
    if (!(items.get(key) instanceof WaitingCorrection waiting)) {
      items.put(key, added);
      return false;
    }
    boolean newer = isNewer(added.bounded().correction(), waiting.bounded().correction());
    // A bucket has one partition. Should it ever have two, the older record is only read once more.
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

  /** Appends the message that a partition is restored. */
  void add(RestoredMessage message) {
    items.put(new Key(section, ""), message);
    section++;
  }

  /** Returns whether nothing waits. */
  boolean isEmpty() {
    return items.isEmpty();
  }

  /** Returns whether further records may be read: all that waits is deferred, and not too much. */
  boolean mayGrow() {
    return isIdle() && deferred.size() < MAX_DEFERRED;
  }

  /** Returns whether nothing is next: all that waits is deferred. */
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
   * Returns the restored message that is next, or null if a correction is, or nothing. A message
   * behind a deferred correction is deferred.
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
   * Returns the corrections that are next, up to a restored message that is not deferred.
   *
   * @param max most corrections to return
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
   * Removes the items at the front that are not deferred.
   *
   * @param count how many
   */
  void answered(int count) {
    answered(count, place -> true);
  }

  /**
   * Removes items at the front that are not deferred, and defers the others of them.
   *
   * @param count how many they are
   * @param isAnswered whether the one of a place, from 0, is to be removed
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
   * @return how many there were
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
   * @return how many there were
   */
  int giveUpAll() {
    int before = items.size();
    items.clear();
    deferred.clear();
    return before;
  }

  /**
   * Returns the offset, exclusive, up to which all records of a partition have been answered.
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
