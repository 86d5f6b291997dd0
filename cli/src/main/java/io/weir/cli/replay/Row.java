// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

/**
 * The layout of the rows in {@link SortedRows}. A charge row is the stamp of one recorded bucket.
 * In sorted order, each charge of a bucket finds the state that the previous charge left. A denial
 * row is a denial that a node repeated. Denial rows are sorted by time.
 */
final class Row {
  static final int WIDTH = 10;
  static final int SORTED = 6;

  static final int BUCKET = 0;
  static final int EPOCH = 1;
  static final int CHARGED = 2;
  static final int VERSION = 3;

  /** Type and time: a charge sorts before the denials that find its state. */
  static final int WHEN = 4;

  static final int ID = 5;
  static final int FULL_AT = 6;
  static final int COST = 7;

  /** The number of the limit, and whether a lease decided. */
  static final int LIMIT = 8;

  static final int PLACE = 9;

  static final int DENIAL_WIDTH = 5;
  static final int DENIAL_SORTED = 2;
  static final int DENIAL_AT = 1;
  static final int DENIAL_COST = 2;
  static final int DENIAL_LIMIT = 3;
  static final int DENIAL_PLACE = 4;

  private static final long IS_DENIAL = 1L << 50;
  private static final long MILLIS = IS_DENIAL - 1;
  private static final long IS_LEASE = 1L << 32;
  private static final int LINE_BITS = 14;
  private static final int OFFSET_BITS = 40;

  private Row() {}

  static long when(boolean isDenial, long epochMillis) {
    return isDenial ? epochMillis | IS_DENIAL : epochMillis;
  }

  static boolean isDenial(long[] row) {
    return (row[WHEN] & IS_DENIAL) != 0;
  }

  static long epochMillis(long[] row) {
    return row[WHEN] & MILLIS;
  }

  static long limit(int number, boolean isLease) {
    return isLease ? number | IS_LEASE : number;
  }

  static int limitNumber(long[] row) {
    return (int) row[LIMIT];
  }

  static boolean isLease(long[] row) {
    return (row[LIMIT] & IS_LEASE) != 0;
  }

  /** Returns the tokens that the call took: its cost, or 0 for a denial. */
  static long taken(long[] row) {
    return isDenial(row) ? 0 : row[COST];
  }

  static long place(int partition, long offset, int line) {
    return ((((long) partition << OFFSET_BITS) | offset) << LINE_BITS) | line;
  }

  static int partition(long place) {
    return (int) (place >>> (OFFSET_BITS + LINE_BITS));
  }

  static long offset(long place) {
    return (place >>> LINE_BITS) & ((1L << OFFSET_BITS) - 1);
  }

  static int line(long place) {
    return (int) (place & ((1 << LINE_BITS) - 1));
  }

  /** Returns {@code partition@offset:line}. */
  static String shown(long place) {
    return partition(place) + "@" + offset(place) + ":" + line(place);
  }
}
