// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import io.weir.topics.settings.Settings.InvalidSettingException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The location of an issuer's keys (a JWK set, RFC 7517): an https URL, an http URL of this
 * machine, or a file. Immutable.
 *
 * @param variable environment variable with the location
 * @param text value of the variable
 */
public record JwksPlace(String variable, String text) {
  /**
   * Requires that the location is valid.
   *
   * @throws InvalidSettingException if the location is neither an allowed URL nor a file that can
   *     be read
   */
  public void requireValid() {
    if (isUrl()) {
      url();
    } else if (!Files.isReadable(Path.of(text))) {
      throw refused();
    }
  }

  boolean isUrl() {
    return text.toLowerCase(Locale.ROOT).matches("https?://.*");
  }

  Path file() {
    return Path.of(text);
  }

  URL url() {
    try {
      URI uri = URI.create(text);
      // over plain HTTP, an attacker in the network could replace the keys
      if (uri.getHost() != null
          && ("https".equals(uri.getScheme()) || AccessSettings.isLoopback(uri.getHost()))) {
        return uri.toURL();
      }
    } catch (IllegalArgumentException | MalformedURLException invalid) {
      // rejected below, with the same message
    }
    throw refused();
  }

  private InvalidSettingException refused() {
    return new InvalidSettingException(
        variable + " must be an https URL or a file that can be read, but is '" + text + "'");
  }

  /**
   * Returns the file, or only the host of the URL, because the rest of a URL may contain secrets.
   */
  @Override
  public String toString() {
    return isUrl() ? url().getHost() : text;
  }
}
