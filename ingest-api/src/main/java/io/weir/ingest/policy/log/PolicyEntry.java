// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An entry of the policy log: the new content of one key. A change of several keys has one version,
 * and one entry per key. All entries of a change take effect together. The content is stored as
 * JSON text to save memory, because a node keeps an entry for each client with settings. Immutable.
 */
public final class PolicyEntry {
  private final PolicyKey key;
  private final Change change;
  private final long order;
  private final byte @Nullable [] content;
  private final byte @Nullable [] untilThen;

  /**
   * Creates an entry.
   *
   * @param key the changed key
   * @param change the change to which the entry belongs
   * @param order number that orders the policies in responses, ascending; 0 for other kinds
   * @param content the policy in the form of a policy file, or the settings; null if the key was
   *     deleted
   * @param untilThen for a policy that takes effect later: the policy in force until then; null if
   *     there is none
   */
  public PolicyEntry(
      PolicyKey key,
      Change change,
      long order,
      @Nullable JsonNode content,
      @Nullable JsonNode untilThen) {
    this(key, change, order, text(content), text(untilThen));
  }

  private PolicyEntry(
      PolicyKey key,
      Change change,
      long order,
      byte @Nullable [] content,
      byte @Nullable [] untilThen) {
    this.key = key;
    this.change = change;
    this.order = order;
    this.content = content;
    this.untilThen = untilThen;
  }

  /** Returns an entry with the given JSON texts as contents. The texts must not be modified. */
  static PolicyEntry ofTexts(
      PolicyKey key,
      Change change,
      long order,
      byte @Nullable [] content,
      byte @Nullable [] untilThen) {
    return new PolicyEntry(key, change, order, content, untilThen);
  }

  private static byte @Nullable [] text(@Nullable JsonNode tree) {
    return tree == null ? null : PolicyEntryCodec.bytes(tree);
  }

  private static @Nullable JsonNode tree(byte @Nullable [] text) {
    return text == null ? null : PolicyEntryCodec.tree(text);
  }

  /**
   * A change of the policies. All entries of the change in one topic share this object.
   *
   * @param version the version of all policies after the change; at least 1
   * @param parts number of entries of the change in the entry's topic
   * @param policiesVersion the newest version with entries in the policies topic, including this
   *     version; 0 if there is none
   * @param clientsVersion the newest version with entries in the clients topic, including this
   *     version; 0 if there is none
   * @param atEpochMillis time of the change by the clock of the author's machine, in milliseconds
   *     since the epoch
   * @param by the author, as free text
   * @param id a unique id of the change
   */
  public record Change(
      long version,
      int parts,
      long policiesVersion,
      long clientsVersion,
      long atEpochMillis,
      String by,
      String id) {
    public Change {
      if (version < 1
          || parts < 1
          || Math.max(policiesVersion, clientsVersion) != version
          || Math.min(policiesVersion, clientsVersion) < 0) {
        throw new IllegalArgumentException(
            ("version and parts must be at least 1, and version must equal the greater of "
                    + "policiesVersion and clientsVersion, but they are version %s, parts %s, "
                    + "policiesVersion %s, clientsVersion %s")
                .formatted(version, parts, policiesVersion, clientsVersion));
      }
    }
  }

  /** Returns the changed key. */
  public PolicyKey key() {
    return key;
  }

  /** Returns the change to which the entry belongs. */
  public Change change() {
    return change;
  }

  /** Returns the number that orders the policies in responses, ascending; 0 for other kinds. */
  public long order() {
    return order;
  }

  /** Returns a copy of the content; null if the change deleted the key. */
  public @Nullable JsonNode content() {
    return tree(content);
  }

  /** Returns the content in force until the new content takes effect; null if there is none. */
  public @Nullable JsonNode untilThen() {
    return tree(untilThen);
  }

  /**
   * Returns the content as JSON text; null if the key was deleted. The text must not be modified.
   */
  byte @Nullable [] contentText() {
    return content;
  }

  /**
   * Returns {@link #untilThen()} as JSON text; null if it is null. The text must not be modified.
   */
  byte @Nullable [] untilThenText() {
    return untilThen;
  }

  /**
   * Returns whether the content equals the given JSON text; the order of members does not matter.
   */
  boolean hasContent(byte[] text) {
    // texts of equal contents have the same length, even if the order of members differs
    return content != null
        && content.length == text.length
        && (Arrays.equals(content, text)
            || PolicyEntryCodec.tree(content).equals(PolicyEntryCodec.tree(text)));
  }

  /**
   * Returns a copy of this entry that uses the given array as its content. The array must equal the
   * current content. So several entries can share one array.
   */
  PolicyEntry sharing(byte[] text) {
    return new PolicyEntry(key, change, order, text, untilThen);
  }

  /**
   * Returns a copy of this entry that uses the given change object. The object must equal the
   * current change. So several entries can share one object.
   */
  PolicyEntry ofChange(Change shared) {
    return new PolicyEntry(key, shared, order, content, untilThen);
  }

  /** Returns the version of all policies after the entry's change. */
  public long version() {
    return change.version();
  }

  /**
   * Returns the time of the change by the clock of the author's machine, in milliseconds since the
   * epoch.
   */
  public long changedAtEpochMillis() {
    return change.atEpochMillis();
  }

  /** Returns the author of the change. */
  public String changedBy() {
    return change.by();
  }

  /** Returns the content in force at the given time; null if there is none. */
  public @Nullable JsonNode contentAt(long epochMillis) {
    JsonNode present = content();
    return present != null && PolicyLogState.effectiveFromMillis(present) > epochMillis
        ? untilThen()
        : present;
  }

  /** Returns whether the change deleted the key. */
  public boolean isDeleted() {
    return content == null;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof PolicyEntry entry
        && key.equals(entry.key)
        && change.equals(entry.change)
        && order == entry.order
        && Arrays.equals(content, entry.content)
        && Arrays.equals(untilThen, entry.untilThen);
  }

  @Override
  public int hashCode() {
    return Objects.hash(key, change, order, Arrays.hashCode(content), Arrays.hashCode(untilThen));
  }

  @Override
  public String toString() {
    return key + " with version " + version() + ": " + content();
  }
}
