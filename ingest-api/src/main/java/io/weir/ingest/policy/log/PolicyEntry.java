// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.policy.PolicyFile;
import org.jspecify.annotations.Nullable;

/**
 * How one change left one key. A change of several keys has one version and as many entries, which
 * take effect together. Immutable: the content must not be modified.
 *
 * @param key what was changed
 * @param version the version of all policies since this change; at least 1
 * @param part the entry's number among those of its change, from 1
 * @param parts the number of entries of its change
 * @param changedAtEpochMillis when, by the clock of who changed it
 * @param changedBy who, in their own words
 * @param order the policies' order in answers, ascending; 0 for other kinds
 * @param content the policy as a policy file has it, or what else is set; null if it was deleted
 * @param untilThen of a policy that is not in force yet when it is changed: the policy that is,
 *     until then; null if there is none
 */
public record PolicyEntry(
    PolicyKey key,
    long version,
    int part,
    int parts,
    long changedAtEpochMillis,
    String changedBy,
    long order,
    @Nullable JsonNode content,
    @Nullable JsonNode untilThen) {
  public PolicyEntry {
    if (version < 1 || part < 1 || parts < part) {
      throw new IllegalArgumentException(
          "version " + version + ", part " + part + " of " + parts + " of " + key);
    }
  }

  /** Creates an entry that takes effect at once. */
  public PolicyEntry(
      PolicyKey key,
      long version,
      int part,
      int parts,
      long changedAtEpochMillis,
      String changedBy,
      long order,
      @Nullable JsonNode content) {
    this(key, version, part, parts, changedAtEpochMillis, changedBy, order, content, null);
  }

  /** Returns the content that is in force at a time; null if none is. */
  public @Nullable JsonNode contentAt(long epochMillis) {
    return content != null && PolicyFile.effectiveFromMillis(content) > epochMillis
        ? untilThen
        : content;
  }

  /** Returns whether the change deleted the key. */
  public boolean isDeleted() {
    return content == null;
  }
}
