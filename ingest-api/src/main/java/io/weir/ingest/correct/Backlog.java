// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.topics.model.CacheRestored;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Records that were read and not answered by the cache yet, in their order. Of several corrections
 * of one bucket only the newest is kept, in the place of the oldest; never across the word that a
 * partition is restored, since that speaks of all before it. Not safe for threads.
 */
public final class Backlog {
  /** What waits. */
  sealed interface Item {
    int partition();

    /** Offset of the oldest record that this item stands for. */
    long offset();
  }

  /** A correction. */
  record Fix(int partition, long offset, BoundedCorrection bounded) implements Item {}

  /** The word that a partition is restored. */
  record Word(int partition, long offset, CacheRestored restored) implements Item {}

  /**
   * Corrections of a bucket between two words meet under one key.
   *
   * @param section counts the words before it
   * @param bucket the bucket; empty for the word that ends the section
   */
  private record Key(long section, String bucket) {}

  private final Map<Key, Item> items = new LinkedHashMap<>();
  private long section;

  /**
   * Adds a correction behind what waits.
   *
   * @return true when it replaced one that waited, or was replaced by it
   */
  boolean add(Fix added) {
    Key key = new Key(section, added.bounded().correction().bucket());
    if (!(items.get(key) instanceof Fix waiting)) {
      items.put(key, added);
      return false;
    }
    boolean newer = isNewer(added.bounded().correction(), waiting.bounded().correction());
    // a bucket has one partition; if ever it has two, the older record is read once more
    if (newer) {
      items.put(key, new Fix(waiting.partition(), waiting.offset(), added.bounded()));
    }
    return true;
  }

  private static boolean isNewer(Correction one, Correction other) {
    return one.epoch() == other.epoch()
        ? one.version() > other.version()
        : one.epoch() > other.epoch();
  }

  /** Adds the word that a partition is restored. */
  void add(Word word) {
    items.put(new Key(section, ""), word);
    section++;
  }

  /** True when nothing waits. */
  public boolean isEmpty() {
    return items.isEmpty();
  }

  /** How many items wait. */
  public int size() {
    return items.size();
  }

  /** The word in front; null when a correction is, or nothing. */
  @Nullable Word nextWord() {
    Iterator<Item> first = items.values().iterator();
    return first.hasNext() && first.next() instanceof Word word ? word : null;
  }

  /** The corrections in front, up to the next word. */
  List<BoundedCorrection> nextFixes(int max) {
    List<BoundedCorrection> fixes = new ArrayList<>();
    for (Item item : items.values()) {
      if (fixes.size() == max || !(item instanceof Fix fix)) {
        break;
      }
      fixes.add(fix.bounded());
    }
    return fixes;
  }

  /** Takes out the items in front. */
  void answered(int count) {
    Iterator<Item> first = items.values().iterator();
    for (int i = 0; i < count; i++) {
      first.next();
      first.remove();
    }
  }

  /**
   * Takes out all items of some partitions.
   *
   * @return how many there were
   */
  public int giveUp(Collection<Integer> partitions) {
    int before = items.size();
    items.values().removeIf(item -> partitions.contains(item.partition()));
    return before - items.size();
  }

  /**
   * Takes out all items.
   *
   * @return how many there were
   */
  public int giveUpAll() {
    int before = items.size();
    items.clear();
    return before;
  }

  /**
   * The offset up to which all records of a partition have been answered, exclusive.
   *
   * @param readTo the offset behind the last record that was read
   */
  public long answeredTo(int partition, long readTo) {
    long answered = readTo;
    for (Item item : items.values()) {
      if (item.partition() == partition) {
        answered = Math.min(answered, item.offset());
      }
    }
    return answered;
  }
}
