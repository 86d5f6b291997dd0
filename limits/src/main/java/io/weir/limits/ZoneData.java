// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.zone.ZoneRulesProvider;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The version and the age of the time zone data in this Java runtime. The data determine midnights
 * and billing periods. Stateless and thread-safe.
 */
public final class ZoneData {
  private static final Pattern VERSION = Pattern.compile("(\\d{4})[a-z]{1,2}");

  private ZoneData() {}

  /**
   * Returns the version of the time zone data in IANA's form. {@code 2025a} is the first version of
   * 2025.
   */
  public static String version() {
    return ZoneRulesProvider.getVersions("UTC").lastKey();
  }

  /**
   * Returns a warning if a version is older than one year. The name of a version contains only its
   * year, so the age is counted from the middle of that year. Example: 2025a is too old from
   * 2026-07-01 on.
   *
   * @return the warning; empty if the version is newer, or its name has another form
   */
  public static Optional<String> warning(String version, Instant now) {
    Matcher name = VERSION.matcher(version);
    if (!name.matches()) {
      return Optional.empty();
    }
    LocalDate oldFrom = LocalDate.of(Integer.parseInt(name.group(1)) + 1, 7, 1);
    return now.atZone(ZoneOffset.UTC).toLocalDate().isBefore(oldFrom)
        ? Optional.empty()
        : Optional.of(
            "the time zone data of this Java runtime, version "
                + version
                + ", are older than one year: billing periods may begin at a wrong time in the"
                + " clients' time zones; update the JDK");
  }
}
