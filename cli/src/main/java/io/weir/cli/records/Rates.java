// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The limits of all records, each with a number, so that a row needs four bytes for a limit.
 * Thread-safe.
 */
public final class Rates {
  private final Map<Rate, Integer> numbers = new HashMap<>();
  private final List<Rate> rates = new ArrayList<>();
  private volatile Rate[] byNumber = {};

  /** Returns the number of a rate. */
  public synchronized int number(Rate rate) {
    Integer known = numbers.putIfAbsent(rate, rates.size());
    if (known != null) {
      return known;
    }
    rates.add(rate);
    Rate[] numbered = byNumber;
    if (rates.size() > numbered.length) {
      numbered = Arrays.copyOf(numbered, Math.max(16, 2 * numbered.length));
    }
    numbered[rates.size() - 1] = rate;
    byNumber = numbered;
    return rates.size() - 1;
  }

  /** Returns the rate with the given number. */
  public Rate of(int number) {
    return byNumber[number];
  }
}
