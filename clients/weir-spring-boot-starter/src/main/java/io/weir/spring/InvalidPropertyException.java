// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

/** Thrown when a property {@code weir.*} is missing or wrong. The message names the property. */
final class InvalidPropertyException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  InvalidPropertyException(String message) {
    super(message);
  }

  InvalidPropertyException(String message, Throwable cause) {
    super(message, cause);
  }
}
