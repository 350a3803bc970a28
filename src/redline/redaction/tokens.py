"""Secrets that their first characters give away, as the services publish them for those who look for leaks."""

import re
from dataclasses import dataclass

from redline.redaction.secret import Secret

__all__ = ["TOKENS", "Token"]


@dataclass(frozen=True, slots=True)
class Token:
    """Secrets that begin with one of these words."""

    name: str
    begins: tuple[str, ...]
    body: str
    """A pattern of what follows."""

    def kind(self) -> Secret:
        """As a kind of secret. It does not begin in the middle of a word."""
        begins = "|".join(rf"{begin}(?<![A-Za-z0-9]{begin})" for begin in map(re.escape, sorted(self.begins, reverse=True)))
        hints = tuple(begin.lower() for begin in self.begins)
        return Secret(self.name, rf"(?P<secret>(?:{begins})(?:{self.body}))", hints, is_one_word=True)


_URL_SAFE = r"A-Za-z0-9_\-"
_ALPHANUMERIC = "A-Za-z0-9"
_BASE64 = "A-Za-z0-9+/="


def _random(least: int, characters: str = _URL_SAFE) -> str:
    """At least so many characters, with a digit: random characters hold one, words with hyphens seldom do."""
    return rf"(?=[A-Za-z_+/=.-]{{0,200}}[0-9])[{characters}]{{{least},}}+"


TOKENS: tuple[Token, ...] = (
    Token("private key", ("LS0tLS1CRUdJTiB",), r"(?!DRVJU)[A-Za-z0-9+/=]{20,}+"),
    Token("Anthropic key", ("sk-ant-",), r"[A-Za-z0-9_-]{16,}+"),
    Token("API key", ("sk-", "gsk_", "xai-", "pplx-", "nvapi-", "csk-", "tgp_v1_", "fw_", "pcsk_", "llx-"), _random(20)),
    Token("API key", ("r8_", "tvly-", "jina_", "fc-", "rpa_", "ctx7sk-", "sgp_", "phx_", "e2b_", "BSA"), _random(24)),
    Token("Google key", ("AIza",), r"[A-Za-z0-9_-]{35,}+"),
    Token("Google key", ("ya29.", "GOCSPX-", "AQ.Ab", "1//0"), r"[A-Za-z0-9_-]{20,}+"),
    Token("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}(?![A-Z0-9])"),
    Token("AWS key", ("ABSK", "bedrock-api-key-"), _random(40, _BASE64)),
    Token("AWS key", ("amzn.mws.",), r"[a-f0-9-]{36}"),
    Token("GitHub token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), r"[A-Za-z0-9_]{30,}+"),
    Token("GitHub token", ("github_pat_",), r"[A-Za-z0-9_]{20,}+"),
    Token("GitLab token", ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-"), r"[A-Za-z0-9_.-]{20,}+"),
    Token("GitLab token", ("glagent-", "gloas-", "glsoat-", "glffct-", "GR1348941"), r"[A-Za-z0-9_.-]{20,}+"),
    Token("Slack token", tuple(f"xox{letter}-" for letter in "abceoprs"), r"[A-Za-z0-9-]{12,}+"),
    Token("Slack token", ("xapp-", "xoxe.xoxp-", "xoxe.xoxb-"), r"[A-Za-z0-9-]{20,}+"),
    Token("Stripe key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), r"[A-Za-z0-9]{20,}+"),
    Token("API key", ("lsv2_pt_", "lsv2_sk_", "wandb_v1_", "esecret_", "sk_"), _random(24)),
    Token("payment key", ("sq0atp-", "sq0csp-", "FLWSECK-", "FLWSECK_TEST-", "rzp_live_"), _random(14)),
    Token("payment key", ("access_token$production$", "access_token$sandbox$"), r"[a-z0-9$]{40,}+"),
    Token("payment key", ("shippo_live_", "shippo_test_", "EZAK", "EZTK", "duffel_live_", "duffel_test_"), _random(30)),
    Token("shop token", ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"), r"[A-Fa-f0-9]{32,}+"),
    Token("Hugging Face token", ("hf_", "api_org_"), r"[A-Za-z0-9]{30,}+"),
    Token("package index token", ("npm_",), r"[A-Za-z0-9_]{36,}+"),
    Token("package index token", ("pypi-",), r"[A-Za-z0-9_-]{50,}+"),
    Token("package index token", ("rubygems_", "CLOJARS_", "oy2", "cio"), _random(32, _ALPHANUMERIC)),
    Token("package index token", ("AKCp", "cmVmd"), _random(59, _ALPHANUMERIC)),
    Token("Docker token", ("dckr_pat_", "dckr_oat_", "SWMTKN-1-"), r"[A-Za-z0-9_-]{20,}+"),
    Token("SendGrid key", ("SG.",), r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
    Token("mail key", ("xkeysib-", "xsmtpsib-", "key-"), r"[a-f0-9]{32,}+(?:-[A-Za-z0-9]++)?"),
    Token("mail key", ("re_",), r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}+"),
    Token("cloud token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{40,}+"),
    Token("cloud token", ("dapi", "dkea", "dose"), r"[a-f0-9]{32}(?:-\d)?(?![a-z0-9])"),
    Token("cloud token", ("HRKU-", "nfp_", "rnd_", "napi_", "vcp_", "vck_", "vca_"), _random(20)),
    Token("cloud token", ("fm2_", "fo1_"), _random(30, _BASE64 + r"_,\-")),
    Token("cloud token", ("sbp_", "sb_secret_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_"), _random(20, _URL_SAFE + ".")),
    Token("cloud token", ("pul-", "tskey-", "LTAI", "AKID", "AQVN", "cfut_", "cfat_", "ico-"), _random(20)),
    Token("cloud token", ("v1.0-",), r"[a-f0-9]{24}-[a-f0-9]{100,}+"),
    Token("cloud token", ("sha256~",), r"[A-Za-z0-9_-]{43}"),
    Token("cloud token", ("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{24,}+"),
    Token("vault token", ("dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."), r"[A-Za-z0-9_.-]{30,}+"),
    Token("vault token", ("ops_eyJ",), r"[A-Za-z0-9+/=_-]{40,}+"),
    Token("vault token", ("A3-",), r"[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){3,5}"),
    Token("vault token", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{50,}+"),
    Token("monitoring key", ("glc_", "glsa_", "eyJrIjoi"), _random(32, _BASE64 + "_")),
    Token("monitoring key", ("NRAK-", "NRII-", "NRIQ-", "NRRA-", "sntrys_", "sntryu_"), _random(20, _BASE64 + r"_\-")),
    Token("monitoring key", ("dt0c01.", "dt0s16.", "dt0s02."), r"[A-Z0-9]{8,}+\.[A-Z0-9]{32,}+"),
    Token("monitoring key", ("hcaik_", "hcxik_", "hcamk_", "squ_", "sqp_", "sqa_"), _random(32)),
    Token("workspace token", ("ntn_", "secret_", "lin_api_", "lin_oauth_", "figd_", "figo_", "PMAK-"), _random(32)),
    Token("workspace token", ("ATATT3", "ATCTT3", "ATOA", "ATBB"), _random(20, _BASE64 + r"_\-")),
    Token("workspace token", ("pat",), r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    Token("workspace token", ("0/", "1/", "2/"), r"(?:[0-9]{10,20}(?:/[0-9]{10,20})?:)?[a-f0-9]{32}(?![a-f0-9])"),
    Token("workspace token", ("tfp_", "CFPAT-", "pnu_", "rdme_", "fio-u-", "sl.", "p8e-"), _random(30)),
    Token("build token", ("bkua_", "CCIPAT_", "CCIPRJ_"), _random(30)),
    Token("social token", ("EAA",), r"(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{60,}+"),
    Token("social token", ("AAAAAAAAAAAAAAAAAAAAA",), r"[A-Za-z0-9%]{50,}+"),
    Token("wallet key", ("xprv", "nsec1"), r"[A-Za-z0-9]{50,}+"),
)
"""Each row a service or several; docs/the-record.md says which. The more telling beginnings come first."""
