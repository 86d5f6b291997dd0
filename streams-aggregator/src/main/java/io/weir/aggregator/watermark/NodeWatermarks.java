// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import io.weir.aggregator.state.ByteStore;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.State;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The low watermarks of all journals that may still send records to one partition. All watermarks
 * depend only on the partition's records and the broker's timestamps, so a second read of the same
 * records has the same result. Not thread-safe.
 *
 * <p>A journal is <em>departed</em> if its node has declared that it has sent all lines. A journal
 * is <em>lost</em> if it has not departed and its node has opened a newer journal. A journal is
 * <em>silent</em> if its low watermark lags behind the newest low watermark by more than the hold.
 * All other journals are <em>live</em>. The partition's watermark is the least low watermark of the
 * live journals.
 *
 * <p>Memory and work per record are proportional to the number of journals that may still send
 * records. A departed journal without a hole moves to {@link DepartedNodes} after an hour. If more
 * than {@link #MAX_TRACKS} journals remain, the journal with the oldest last record also moves to
 * {@link DepartedNodes}. The possible gaps of a moved journal move to {@link PossibleGaps}. The
 * next record of a moved journal loads it into memory again, so the limit never causes a record to
 * be refused.
 */
public final class NodeWatermarks {
  /**
   * Maximum number of journals in memory for a partition. This limit bounds the size of the
   * progress record and the work per batch.
   */
  public static final int MAX_TRACKS = 1_000;

  /**
   * Time for which the progress record still contains a departed journal, because reports may wait
   * for the positions of its calls.
   */
  public static final long PUBLISHED_AFTER_DEPARTURE_MILLIS = 3_600_000L;

  /** Time for which a journal is kept after all its calls have become too old to be counted. */
  private static final long FORGET_AFTER_MILLIS = 24 * 3_600_000L;

  private static final byte[] FIRST_KEY = {'n'};
  private static final byte[] BEHIND_LAST_KEY = {'o'};

  private final long maxHoldMillis;
  private final long forgetAfterMillis;
  private final ByteStore store;
  private final DepartedNodes left;
  private final PossibleGaps hidden;
  private final Map<Id, NodeTrack> tracks = new HashMap<>();

  /** The journals in {@link #tracks} by node, in ascending order of their epochs. */
  private final Map<String, NavigableMap<Long, NodeTrack>> tracksOfNode = new HashMap<>();

  private final AwaitedJournals awaited = new AwaitedJournals();
  private long nextTidyAtMillis;

  private record Id(String node, long epoch) {}

  /**
   * Loads the journals from a store.
   *
   * @param maxHoldMillis the hold: maximum lag of a low watermark for which the partition waits
   * @param latenessMillis maximum age of a call when it arrives
   */
  public NodeWatermarks(long maxHoldMillis, long latenessMillis, ByteStore store) {
    this.maxHoldMillis = maxHoldMillis;
    this.forgetAfterMillis = latenessMillis + FORGET_AFTER_MILLIS;
    this.store = store;
    this.left = new DepartedNodes(store);
    this.hidden = new PossibleGaps(store);
    for (ByteStore.Entry entry : store.scan(FIRST_KEY, BEHIND_LAST_KEY, Integer.MAX_VALUE)) {
      remember(NodeTrackBytes.decode(entry.value()));
    }
  }

  /** Returns whether the lines of a batch have arrived before. */
  public LineArrival judge(BatchHeader header) {
    NodeTrack track = find(header);
    return track == null ? LineArrival.NEW : track.judge(header);
  }

  /** Returns whether one line of a batch has arrived before. */
  public LineArrival judge(BatchHeader header, long line) {
    NodeTrack track = find(header);
    return track == null ? LineArrival.NEW : track.judge(line);
  }

  /**
   * Returns whether a line of this partition has arrived before. Does not load a departed journal
   * into memory.
   */
  public LineArrival judge(UsagePosition line) {
    NodeTrack track = tracks.get(new Id(line.node(), line.nodeEpoch()));
    NodeTrack known = track == null ? left.find(line.node(), line.nodeEpoch()) : track;
    return known == null ? LineArrival.NEW : known.judge(line.line());
  }

  private @Nullable NodeTrack find(BatchHeader header) {
    NodeTrack track = tracks.get(new Id(header.node(), header.nodeEpoch()));
    if (track == null) {
      track = left.remove(header.node(), header.nodeEpoch());
      if (track != null) {
        keep(track);
      }
    }
    return track;
  }

  /**
   * Records a heartbeat, or a batch with a new line. A low watermark that is later than the
   * broker's time is reduced to the broker's time. A lower value is always safe, so a node with a
   * wrong clock cannot close a window too early.
   *
   * @param mayHaveBegunBefore whether records of the journal may have expired before the partition
   *     was first read. If true, the journal may have batches before the first known batch
   * @return the journal's greatest low watermark
   */
  public long note(BatchHeader header, long atEpochMillis, boolean mayHaveBegunBefore) {
    long lowWatermark = Math.min(header.lowWatermarkEpochMillis(), atEpochMillis);
    NodeTrack track = find(header);
    if (track == null) {
      long base = mayHaveBegunBefore ? header.linesBefore() : header.linesBeforeEpoch();
      track = NodeTrack.first(header, lowWatermark, base, atEpochMillis);
    }
    NodeTrack next =
        header.isHeartbeat()
            ? track.withHeartbeat(header, lowWatermark, atEpochMillis)
            : track.withBatch(header, lowWatermark, atEpochMillis);
    if (next.forgottenMissing() > track.forgottenMissing()) {
      // the track has removed its oldest hole
      hidden.add(track.holes().get(0), atEpochMillis + forgetAfterMillis);
    }
    keep(next);
    tidy(next, atEpochMillis);
    return next.newestLowWatermark();
  }

  private void keep(NodeTrack track) {
    remember(track);
    store.put(key(track), NodeTrackBytes.encode(track));
  }

  private void remember(NodeTrack track) {
    tracks.put(new Id(track.node(), track.epoch()), track);
    tracksOfNode.computeIfAbsent(track.node(), node -> new TreeMap<>()).put(track.epoch(), track);
    updateAwaited(track.node());
  }

  private void forget(NodeTrack track) {
    tracks.remove(new Id(track.node(), track.epoch()));
    NavigableMap<Long, NodeTrack> ofNode = ofNode(track.node());
    ofNode.remove(track.epoch());
    if (ofNode.isEmpty()) {
      tracksOfNode.remove(track.node());
    }
    updateAwaited(track.node());
  }

  /** Makes the watermark wait for the newest journal of a node, unless it has departed. */
  private void updateAwaited(String node) {
    Map.Entry<Long, NodeTrack> newest = ofNode(node).lastEntry();
    if (newest == null || newest.getValue().departed()) {
      awaited.remove(node);
    } else {
      awaited.put(newest.getValue());
    }
  }

  private NavigableMap<Long, NodeTrack> ofNode(String node) {
    return tracksOfNode.getOrDefault(node, Collections.emptyNavigableMap());
  }

  /**
   * Removes journals from memory. Once an hour, removes journals for which the watermark does not
   * wait. If more than {@link #MAX_TRACKS} journals remain, also removes the journals with the
   * oldest last records.
   */
  private void tidy(NodeTrack newest, long atEpochMillis) {
    if (atEpochMillis >= nextTidyAtMillis) {
      nextTidyAtMillis = atEpochMillis + PUBLISHED_AFTER_DEPARTURE_MILLIS;
      hidden.expire(atEpochMillis);
      for (NodeTrack track : List.copyOf(tracks.values())) {
        if (!isSame(track, newest) && isOver(track, atEpochMillis)) {
          release(track, atEpochMillis);
        }
      }
    }
    while (tracks.size() > MAX_TRACKS) {
      tracks.values().stream()
          .filter(track -> !isSame(track, newest))
          .min(
              Comparator.comparing((NodeTrack track) -> !isIdle(track))
                  .thenComparingLong(NodeTrack::lastAtEpochMillis))
          .ifPresent(track -> release(track, atEpochMillis));
    }
  }

  private static boolean isSame(NodeTrack one, NodeTrack other) {
    return one.epoch() == other.epoch() && one.node().equals(other.node());
  }

  private boolean isOver(NodeTrack track, long atEpochMillis) {
    long age = atEpochMillis - track.lastAtEpochMillis();
    return isIdle(track) ? age >= PUBLISHED_AFTER_DEPARTURE_MILLIS : age > forgetAfterMillis;
  }

  /**
   * Returns whether a journal is complete, and no earlier lost journal of its node is in memory.
   * While a lost journal is in memory, its successor must stay in memory.
   */
  private boolean isIdle(NodeTrack track) {
    return track.isFinished()
        && ofNode(track.node()).headMap(track.epoch()).values().stream()
            .allMatch(NodeTrack::departed);
  }

  private void release(NodeTrack track, long atEpochMillis) {
    long expiresAt = track.lastAtEpochMillis() + forgetAfterMillis;
    boolean mayReturn = expiresAt > atEpochMillis;
    for (Interval gap : possibleGaps(track, Long.MAX_VALUE)) {
      hidden.add(mayReturn ? gap : gap.until(atEpochMillis), expiresAt);
    }
    if (mayReturn) {
      left.add(track, atEpochMillis - forgetAfterMillis);
    }
    forget(track);
    store.delete(key(track));
  }

  /**
   * Returns the partition's watermark, which is the least low watermark of the live journals. If no
   * journal is live, returns the greatest trusted low watermark.
   *
   * @param newestLowWatermark the greatest low watermark of all journals; must never decrease
   */
  public long watermark(long newestLowWatermark) {
    long holdUntil = newestLowWatermark - maxHoldMillis;
    long least = awaited.least(holdUntil);
    return least < Long.MAX_VALUE
        ? least
        : tracks.values().stream()
            .mapToLong(track -> track.lowWatermark(holdUntil))
            .max()
            .orElse(0);
  }

  /** Returns the intervals of event time for which calls may be missing. */
  public List<Interval> possibleGaps(long newestLowWatermark) {
    long holdUntil = newestLowWatermark - maxHoldMillis;
    List<Interval> gaps = new ArrayList<>(hidden.all());
    for (NodeTrack track : tracks.values()) {
      gaps.addAll(possibleGaps(track, holdUntil));
    }
    return gaps;
  }

  private List<Interval> possibleGaps(NodeTrack track, long holdUntil) {
    List<Interval> gaps = new ArrayList<>(track.holes());
    if (track.departed()) {
      return gaps;
    }
    if (hasSuccessor(track)) {
      gaps.add(new Interval(track.newestLowWatermark(), nextOpeningMillis(track)));
    } else if (track.lowWatermark(holdUntil) < holdUntil) {
      gaps.add(new Interval(track.lowWatermark(holdUntil), Long.MAX_VALUE));
    }
    return gaps;
  }

  /** Returns the intervals of event time before a boundary for which calls may be missing. */
  public List<PartitionProgress.Gap> possibleGapsBefore(
      long boundaryEpochMillis, long newestLowWatermark) {
    List<Interval> before = new ArrayList<>();
    for (Interval gap : possibleGaps(newestLowWatermark)) {
      before.add(gap.until(boundaryEpochMillis));
    }
    return Interval.merged(before, PartitionProgress.MAX_GAPS).stream()
        .map(gap -> new PartitionProgress.Gap(gap.fromEpochMillis(), gap.untilEpochMillis()))
        .toList();
  }

  /** Returns the states of the journals for the progress record. */
  public List<PartitionProgress.Node> nodes(long newestLowWatermark) {
    long holdUntil = newestLowWatermark - maxHoldMillis;
    List<PartitionProgress.Node> nodes = new ArrayList<>(tracks.size());
    for (NodeTrack track : tracks.values()) {
      long lowWatermark = track.lowWatermark(holdUntil);
      nodes.add(
          new PartitionProgress.Node(
              track.node(),
              track.epoch(),
              track.lines(),
              track.missing(),
              lowWatermark,
              state(track, lowWatermark, holdUntil)));
    }
    return nodes;
  }

  private State state(NodeTrack track, long lowWatermark, long holdUntil) {
    if (track.departed()) {
      return State.DEPARTED;
    }
    if (hasSuccessor(track)) {
      return State.LOST;
    }
    return lowWatermark < holdUntil ? State.SILENT : State.LIVE;
  }

  /**
   * Returns the broker's time of the first record of the journal that follows a lost journal of the
   * same node.
   */
  private long nextOpeningMillis(NodeTrack lost) {
    Map.Entry<Long, NodeTrack> next = ofNode(lost.node()).higherEntry(lost.epoch());
    return next == null ? Long.MAX_VALUE : next.getValue().firstAtEpochMillis();
  }

  /** Returns whether the node has opened a newer journal. */
  private boolean hasSuccessor(NodeTrack track) {
    return ofNode(track.node()).higherKey(track.epoch()) != null;
  }

  private static byte[] key(NodeTrack track) {
    return NodeTrackBytes.key(FIRST_KEY, track.node(), track.epoch());
  }
}
