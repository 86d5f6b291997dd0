// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.limits.IpAddress;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.ResolverStyle;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads the access log of a web server in common or combined format, as Apache httpd and nginx
 * write it. The client is the user if the line has one, otherwise the host. The endpoint is the
 * method and the path, without a query. Times have whole seconds, so the calls of one second are
 * spread evenly over that second, in order.
 */
final class AccessLog {
  private static final Pattern LINE =
      Pattern.compile(
          "(\\S+) \\S+ (\\S+) \\[([^\\]]+)]"
              + " \"([A-Za-z-]+) ((?:[^\" ?\\\\]|\\\\.)+)(?:[^\"\\\\]|\\\\.)*\".*",
          Pattern.DOTALL);
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("dd/MMM/uuuu:HH:mm:ss Z", Locale.ENGLISH)
          .withResolverStyle(ResolverStyle.STRICT);
  private static final int USER = 2;
  private static final int TIME_OF_DAY = 3;
  private static final int METHOD = 4;
  private static final int PATH = 5;
  private static final int MIN_YEAR = 1971;
  private static final int MAX_YEAR = 2200;
  private static final long MICROS_PER_SECOND = 1_000_000;

  private final Map<String, String> names = new HashMap<>();
  private final Map<String, IpAddress> addresses = new HashMap<>();
  private final List<SimulatedCall> calls = new ArrayList<>();
  private long unread;
  private long firstUnread;

  private AccessLog() {}

  /**
   * The content of a log. Immutable.
   *
   * @param calls the calls in order of time
   * @param unread number of lines that are not calls
   * @param firstUnread number of the first line that is not a call, from 1; 0 if there is none
   */
  public record Read(List<SimulatedCall> calls, long unread, long firstUnread) {}

  /**
   * Reads a file.
   *
   * @param progress receives the approximate number of bytes read
   */
  public static Read read(Path file, LongConsumer progress) throws IOException {
    AccessLog log = new AccessLog();
    try (BufferedReader lines = Files.newBufferedReader(file, StandardCharsets.ISO_8859_1)) {
      long number = 0;
      long bytes = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        number++;
        bytes += line.length() + 1L;
        log.take(line, number);
        progress.accept(bytes);
      }
    }
    log.calls.sort(Comparator.comparingLong(SimulatedCall::atMicros));
    spread(log.calls);
    return new Read(log.calls, log.unread, log.firstUnread);
  }

  private void take(String line, long number) {
    Matcher fields = LINE.matcher(line);
    if (fields.matches()) {
      try {
        OffsetDateTime time = OffsetDateTime.parse(fields.group(TIME_OF_DAY), TIME);
        if (time.getYear() >= MIN_YEAR && time.getYear() <= MAX_YEAR) {
          add(fields, time.toEpochSecond());
          return;
        }
      } catch (DateTimeException noTime) {
        // counted below, like other lines that are not calls
      }
    }
    unread++;
    firstUnread = firstUnread == 0 ? number : firstUnread;
  }

  private void add(Matcher fields, long epochSecond) {
    String host = fields.group(1);
    String user = fields.group(USER);
    boolean isNamed = !user.equals("-") && !user.equals("\"\"");
    calls.add(
        new SimulatedCall(
            epochSecond * MICROS_PER_SECOND,
            name(isNamed ? user : host),
            name(fields.group(METHOD) + " " + fields.group(PATH)),
            addresses.computeIfAbsent(host, IpAddress::parse)));
  }

  /** Returns a shared instance of a name, because a log repeats names. */
  private String name(String text) {
    return names.computeIfAbsent(text, it -> it);
  }

  /** Spreads the calls of each second evenly over that second. */
  private static void spread(List<SimulatedCall> sorted) {
    int from = 0;
    while (from < sorted.size()) {
      int to = from;
      while (to < sorted.size() && sorted.get(to).atMicros() == sorted.get(from).atMicros()) {
        to++;
      }
      for (int i = from; i < to; i++) {
        SimulatedCall call = sorted.get(i);
        long within = MICROS_PER_SECOND * (i - from) / (to - from);
        sorted.set(
            i,
            new SimulatedCall(call.atMicros() + within, call.client(), call.endpoint(), call.ip()));
      }
      from = to;
    }
  }
}
