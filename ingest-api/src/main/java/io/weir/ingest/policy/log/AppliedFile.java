// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A valid policy file.
 *
 * @param name the file's name, for the log
 * @param tree the content, as parsed by {@link io.weir.ingest.policy.PolicyFile}
 * @param digest SHA-256 of the content in hexadecimal digits; comments and layout do not change the
 *     digest
 */
public record AppliedFile(String name, JsonNode tree, String digest) {
  /** Creates an instance, and computes the digest. */
  public static AppliedFile of(String name, JsonNode tree) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      PolicyEntryCodec.JSON.writeValue(
          new DigestOutputStream(OutputStream.nullOutputStream(), digest), tree);
      return new AppliedFile(name, tree, HexFormat.of().formatHex(digest.digest()));
    } catch (NoSuchAlgorithmException missing) {
      throw new IllegalStateException(
          "SHA-256 is missing, although every Java platform must have it", missing);
    } catch (IOException impossible) {
      throw new UncheckedIOException("writing JSON to nothing failed", impossible);
    }
  }
}
